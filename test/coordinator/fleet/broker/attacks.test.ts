import t from 'tap'
import { newId } from '../../../../shared/ids.ts'
import { topicFor } from '../../../../shared/wire/topics.ts'
import {
  busRig,
  loginOf,
  type MakeBus,
  makeEmbeddedBus,
  mosquittoBus,
} from '../../../support/bus.ts'
import { mosquittoMissing } from '../../../support/mosquitto.ts'
import { connectPacket } from '../../../support/raw-mqtt.ts'
import { fuzzBroker } from './fuzz.ts'

/* What a cell with a good credential may try besides what the contract tests show. */

const A = newId('cell')
const B = newId('cell')
const FUZZ_PACKETS = 1000

const attacks = (name: string, makeBus: MakeBus, skip: string | false = false): void => {
  t.test(`on ${name}`, { skip }, async t => {
    t.test('a packet of 200 MB is refused by its header without effect on others', async t => {
      const { online } = await busRig(t, makeBus)
      const honest = await online(B)
      const rogue = await online(A)
      rogue.send(Buffer.from([0x30, 0x80, 0x84, 0xaf, 0x5f]))
      await rogue.closed
      t.ok(await honest.ping())
    })

    t.test('a flood is disconnected after the burst without effect on others', async t => {
      const { online, heard } = await busRig(t, makeBus)
      const honest = await online(B)
      const rogue = await online(A)
      const flood = Buffer.concat(new Array(200_000).fill(Buffer.from([0xc0, 0])))
      rogue.send(flood)
      await rogue.closed
      t.ok(await honest.ping())
      t.equal(heard.length, 0)
    })

    t.test('a connection without CONNECT is closed when its time is over', async t => {
      const { dial, online } = await busRig(t, makeBus, { connectTimeoutMs: 300 })
      const honest = await online(B)
      const silent = await dial(A)
      const slow = await dial(newId('cell'))
      slow.send(Buffer.from([0x10]))
      await Promise.all([silent.closed, slow.closed])
      t.ok(await honest.ping())
    })

    t.test('one cell keeps at most its four newest connections open', async t => {
      const { dial, online } = await busRig(t, makeBus)
      const honest = await online(B)
      const halfOpen = []
      for (let i = 0; i < 40; i++) halfOpen.push(await dial(A))
      await Promise.all(halfOpen.slice(0, -4).map(({ closed }) => closed))
      t.strictSame(
        halfOpen.slice(-4).map(({ socket }) => socket.destroyed),
        [false, false, false, false],
      )
      t.ok(await honest.ping())
    })

    t.test('many cells that never finish CONNECT do not block an honest one', async t => {
      const { dial, online } = await busRig(t, makeBus)
      for (let i = 0; i < 100; i++) (await dial(newId('cell'))).send(Buffer.from([0x10, 0x7f]))
      const honest = await online(B)
      t.ok(await honest.ping())
    })

    t.test('a second CONNECT, also as another cell, ends the connection', async t => {
      const { online } = await busRig(t, makeBus)
      const honest = await online(B)
      const rogue = await online(A)
      rogue.send(connectPacket(loginOf(B)))
      await rogue.closed
      t.ok(await honest.ping())
    })

    t.test('a subscriber that stops reading does not delay another', async t => {
      const { bus, online } = await busRig(t, makeBus)
      const frozen = await online(A)
      const honest = await online(B)
      await frozen.subscribe(topicFor('rebirth', A), 1)
      await honest.subscribe(topicFor('rebirth', B), 1)
      frozen.socket.pause()
      const big = { filling: 'x'.repeat(200_000) }
      for (let i = 0; i < 40; i++) void bus.publish('rebirth', A, 'rebirth', big).catch(() => {})
      void bus.publish('rebirth', B, 'rebirth', {})
      t.match(await honest.next('publish'), { topic: topicFor('rebirth', B) })
    })

    t.test(`${FUZZ_PACKETS} damaged packets do no harm`, async t => {
      const rig = await busRig(t, makeBus)
      const result = await fuzzBroker(rig, { packets: FUZZ_PACKETS, seed: 20_261_120 })
      t.match(result, { packets: FUZZ_PACKETS, misattributed: 0, honestStayed: true })
    })
  })
}

attacks('the embedded broker', makeEmbeddedBus)
attacks('a mosquitto outside', mosquittoBus, mosquittoMissing)
