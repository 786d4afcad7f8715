import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import fc from 'fast-check'
import mqtt from 'mqtt-packet'
import t, { type Test } from 'tap'
import { CoordinatorConfig } from '../../../../coordinator/config.ts'
import { brokerLogins, loadBrokerKey } from '../../../../coordinator/fleet/broker/logins.ts'
import { mosquittoFiles } from '../../../../coordinator/fleet/broker/mosquitto-files.ts'
import { openBus } from '../../../../coordinator/fleet/broker/open-bus.ts'
import { PacketReader } from '../../../../coordinator/fleet/broker/packets.ts'
import { openSecrets } from '../../../../coordinator/kernel/secrets/open-secrets.ts'
import { openStore } from '../../../../coordinator/kernel/store/store.ts'
import { loadOwnCertificate } from '../../../../coordinator/kernel/tls/own-certificate.ts'
import { addBrokerCommands } from '../../../../coordinator/surfaces/admin/broker.ts'
import { newId } from '../../../../shared/ids.ts'
import { createLogger } from '../../../../shared/logger.ts'
import { TOPICS, type TopicName, topicFor } from '../../../../shared/wire/topics.ts'
import { busRig, cells, openExternal, startBroker } from '../../../support/bus.ts'
import { silent } from '../../../support/cell.ts'
import { findFreePort, mosquittoMissing } from '../../../support/mosquitto.ts'
import { RawMqtt } from '../../../support/raw-mqtt.ts'
import { certificatePlace, memorySecrets, secretsOf } from '../../../support/secrets.ts'

const A = newId('cell')
const B = newId('cell')

const temporary = (t: Test): string => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-broker-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  return folder
}

t.test('the files for mosquitto', async t => {
  t.test('grant every topic of the table to its writers and readers', async t => {
    const login = (username: string) => ({ username, password: 'x' })
    const { acl = '' } = mosquittoFiles({
      folder: '/etc/mosquitto/shoal',
      host: '127.0.0.1',
      port: 1883,
      coordinator: login('boss'),
      cells: login('cells'),
    })
    for (const name of Object.keys(TOPICS) as TopicName[]) {
      const [ours, theirs] = TOPICS[name].direction === 'up' ? ['read', 'write'] : ['write', 'read']
      t.match(acl, `topic ${ours} ${topicFor(name, '+')}\n`)
      t.match(acl, `pattern ${theirs} ${topicFor(name, '%c')}\n`)
    }
    t.match(acl, 'topic read shoal/v1/cells/+/+/state\n', 'of each of several coordinators')
    t.match(acl, 'pattern read shoal/v1/coordinator/+/state\n')
    t.equal(acl.match(/^(topic|pattern)/gm)?.length, 3 * Object.keys(TOPICS).length + 1)
    t.match(acl, /^user boss$/m)
  })

  t.test('are written by a command, for their owner only and without the passwords', async t => {
    const out = join(temporary(t), 'mosquitto')
    const stateDir = temporary(t)
    let printed = ''
    const config = CoordinatorConfig.parse({
      state_dir: stateDir,
      broker: { mode: 'external', url: 'mqtt://127.0.0.1:1999' },
    })
    const program = new Command()
    addBrokerCommands(
      program,
      () => config,
      async store => openSecrets({ store, stateDir, logger: silent }),
      text => {
        printed += text
      },
    )
    await program.parseAsync(['broker', 'files', '--out', out], { from: 'user' })
    for (const name of ['mosquitto.conf', 'acl', 'passwords']) {
      t.match(printed, join(out, name))
      t.equal(statSync(join(out, name)).mode & 0o777, 0o600)
    }
    t.match(readFileSync(join(out, 'mosquitto.conf'), 'utf8'), 'listener 1999 127.0.0.1')
    const store = await openStore(stateDir)
    const key = await loadBrokerKey(await secretsOf(store, stateDir))
    await store.close()
    const { cells } = brokerLogins({ key, username: 'coordinator' })
    t.notMatch(readFileSync(join(out, 'passwords'), 'utf8'), cells.password)
  })
})

t.test('the passwords at the broker', async t => {
  t.test('stay the same within one state folder, and differ between users and folders', async t => {
    const loginsIn = async (stateDir: string) => {
      const store = await openStore(stateDir)
      const key = await loadBrokerKey(await secretsOf(store, stateDir))
      await store.close()
      return brokerLogins({ key, username: 'coordinator' })
    }
    const [one, other] = [temporary(t), temporary(t)]
    const first = await loginsIn(one)
    t.strictSame(await loginsIn(one), first)
    t.not(first.cells.password, first.coordinator.password)
    t.not((await loginsIn(other)).cells.password, first.cells.password)
    t.notOk(readdirSync(one).includes('broker.key'), 'the key is in the store alone')
  })
})

t.test('output of a cell is split into whole packets, however it arrives', async t => {
  const bodies = fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 6 })
  const cuts = fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 20 })
  const publish = { cmd: 'publish', topic: 'a', qos: 0, retain: false, dup: false } as const
  const check = fc.property(bodies, cuts, (bodies, cuts) => {
    const packets = bodies.map(body => mqtt.generate({ ...publish, payload: Buffer.from(body) }))
    const bytes = Buffer.concat(packets)
    const reader = new PacketReader()
    const read: Buffer[] = []
    for (let at = 0, cut = 0; at < bytes.length; cut++) {
      const piece = bytes.subarray(at, at + (cuts[cut % cuts.length] ?? 1))
      read.push(...reader.feed(piece))
      at += piece.length
    }
    return read.length === packets.length && read.every((one, i) => packets[i]?.equals(one))
  })
  t.doesNotThrow(() => fc.assert(check, { numRuns: 200 }))
})

t.test('a coordinator starts and stops without its broker, and reports this', async t => {
  const config = CoordinatorConfig.parse({
    state_dir: temporary(t),
    broker: { mode: 'external', url: `mqtt://127.0.0.1:${await findFreePort()}` },
  })
  const bus = await openBus(config, memorySecrets(), {
    logger: silent,
    nowMs: () => 0,
    epoch: 1,
    onActivity: () => {},
    receive: () => {},
    onTakeover: () => {},
    authenticate: () => true,
  })
  t.notOk(bus.isConnected())
  await t.rejects(bus.publish('rebirth', A, 'rebirth', {}), { code: 'cell_unavailable' })
  await bus.close()
})

t.test('the configuration', async t => {
  for (const [title, broker] of [
    ['an outside broker without an address', { mode: 'external' }],
    ['plain MQTT to another machine', { mode: 'external', url: 'mqtt://10.0.0.1' }],
    ['another protocol', { mode: 'external', url: 'http://127.0.0.1' }],
    ['a user name that would be a rule of its own', { username: 'a\ntopic #' }],
  ] as const)
    t.test(`refuses ${title}`, async t => {
      t.notOk(CoordinatorConfig.safeParse({ broker }).success)
    })
})

t.test('an external mosquitto', { skip: mosquittoMissing }, async t => {
  /** Dials the broker itself, as somebody would who has the password of the cells. */
  const direct = async (t: Test, port: number, clientId: string): Promise<RawMqtt> => {
    const client = new RawMqtt(connect(port, '127.0.0.1'))
    t.teardown(() => client.socket.destroy())
    const { username, password } = cells
    await client.connect({ clientId, username, password: Buffer.from(password) })
    return client
  }

  const runBroker = async (t: Test) => {
    const port = await findFreePort()
    const mosquitto = await startBroker(port)
    t.teardown(mosquitto.stop)
    return port
  }

  t.test('isolates cells even when the coordinator is bypassed', async t => {
    const port = await runBroker(t)
    const { bus, next } = await busRig(t, (_t, parts) => openExternal(parts, port))
    const a = await direct(t, port, A)
    const b = await direct(t, port, B)
    a.publish(topicFor('state', B), 'evil', { qos: 1 })
    a.publish(topicFor('coordinator', A), 'evil', { qos: 1 })
    await a.ping()
    b.publish(topicFor('state', B), 'marker', { qos: 1 })
    t.match(await next(), { cellId: B, text: 'marker' })

    await a.subscribe('#')
    await bus.publish('rebirth', B, 'rebirth', {})
    await bus.publish('rebirth', A, 'rebirth', {})
    for (;;) {
      const heard = await a.next('publish')
      t.notMatch(heard?.topic, B)
      if (heard?.topic === topicFor('rebirth', A)) break
    }
  })

  t.test('is shared by coordinators, of which each has its own session with a cell', async t => {
    const port = await runBroker(t)
    const open = (replicaId: string) =>
      busRig(t, (_t, parts) => openExternal({ ...parts, replicaId }, port))
    const [one, two] = [await open('rep_1'), await open('rep_2')]
    const watcher = await direct(t, port, A)
    await watcher.subscribe('shoal/v1/coordinator/+/state', 1)
    for (let n = 0; n < 2; n++) t.match(String((await watcher.next('publish'))?.payload), 'online')
    const [atOne, atTwo] = [await one.online(A), await two.online(A)]
    for (const session of [atOne, atTwo]) await session.subscribe(topicFor('rebirth', A), 1)
    for (const [rig, session] of [
      [one, atOne],
      [two, atTwo],
    ] as const) {
      session.publish(topicFor('state', A), 'mine')
      t.strictSame(await rig.next(), { name: 'state', cellId: A, text: 'mine' })
      await rig.bus.publish('rebirth', A, 'rebirth', {})
      t.equal((await session.next('publish'))?.topic, topicFor('rebirth', A))
    }
    await one.bus.close()
    const end = await watcher.next('publish')
    t.match([end?.topic, String(end?.payload)], ['shoal/v1/coordinator/rep_1/state', /offline/])
    t.ok(await atTwo.ping(), 'the session with the other one goes on')
    t.strictSame([one.heard, two.heard, atTwo.listPendingPackets()], [[], [], []])
  })

  t.test('delivers no retained message to the coordinator', async t => {
    const port = await runBroker(t)
    const poisoner = await direct(t, port, A)
    poisoner.publish(topicFor('state', A), 'poison', { qos: 1, retain: true })
    await poisoner.next('puback')
    const { next } = await busRig(t, (_t, parts) => openExternal(parts, port))
    const b = await direct(t, port, B)
    b.publish(topicFor('state', B), 'marker', { qos: 1 })
    t.match(await next(), { cellId: B, text: 'marker' })
  })

  t.test('keeps acknowledged messages for a disconnected coordinator', async t => {
    const port = await runBroker(t)
    const parts = (t: Test) => busRig(t, (_t, parts) => openExternal(parts, port))
    await t.test('first', async t => void (await parts(t)))
    const a = await direct(t, port, A)
    a.publish(topicFor('state', A), 'meanwhile', { qos: 1 })
    await a.next('puback')
    const { next } = await parts(t)
    t.match(await next(), { cellId: A, text: 'meanwhile' })
  })

  t.test('informs cells whether the coordinator is connected', async t => {
    const port = await runBroker(t)
    const presence = async (client: RawMqtt): Promise<string> =>
      JSON.parse(String((await client.next('publish'))?.payload)).body.state
    const a = await direct(t, port, A)
    await a.subscribe(topicFor('coordinator', A), 1)
    await t.test('online', async t => {
      await busRig(t, (_t, parts) => openExternal(parts, port))
      t.equal(await presence(a), 'online')
    })
    t.equal(await presence(a), 'offline')
  })

  t.test('with a certificate carries cells over TLS, and only with the right one', async t => {
    const {
      cert,
      key,
      caFile = '',
    } = await loadOwnCertificate(await certificatePlace(t), ['127.0.0.1'])
    const other = await loadOwnCertificate(await certificatePlace(t), ['127.0.0.1'])
    const elsewhere = await loadOwnCertificate(await certificatePlace(t), ['broker.example'])
    const port = await findFreePort()
    const mosquitto = await startBroker(port, { cert, key })
    t.teardown(mosquitto.stop)
    const ca = readFileSync(caFile)
    const { bus, next, online } = await busRig(t, (_t, parts) =>
      openExternal(parts, port, () => {}, ca),
    )
    const a = await online(A)
    a.publish(topicFor('state', A), 'over TLS', { qos: 1 })
    t.match(await next(), { cellId: A, text: 'over TLS' })
    await a.subscribe(topicFor('rebirth', A), 1)
    await bus.publish('rebirth', A, 'rebirth', {})
    t.equal((await a.next('publish'))?.topic, topicFor('rebirth', A))

    /** The first reason that the coordinator logs for not reaching this broker. */
    const refusal = (port: number, caFile: string): Promise<string> =>
      new Promise((resolve, reject) => {
        const log = createLogger(
          { level: 'warn' },
          {
            write: line => {
              const { msg, reason } = JSON.parse(line)
              if (msg === 'broker failed') resolve(reason)
            },
          },
        )
        const broker = { mode: 'external', url: `mqtts://127.0.0.1:${port}`, ca_file: caFile }
        const config = CoordinatorConfig.parse({ state_dir: temporary(t), broker })
        openBus(config, memorySecrets(), {
          logger: log,
          nowMs: () => 0,
          epoch: 1,
          onActivity: () => {},
          receive: () => {},
          onTakeover: () => {},
          authenticate: () => true,
        }).then(bus => t.teardown(() => bus.close()), reject)
      })
    t.match(await refusal(port, other.caFile ?? ''), /certificate/, 'of another authority')
    const wrongName = await findFreePort()
    const impostor = await startBroker(wrongName, elsewhere)
    t.teardown(impostor.stop)
    t.match(await refusal(wrongName, elsewhere.caFile ?? ''), /127\.0\.0\.1/, 'for another name')
  })

  t.test('that dies drops its connections, and is reconnected', async t => {
    const port = await findFreePort()
    const mosquitto = await startBroker(port)
    const waiting: ((connected: boolean) => void)[] = []
    const change = () => new Promise<boolean>(resolve => waiting.push(resolve))
    const { bus, online, next } = await busRig(t, (_t, parts) =>
      openExternal(parts, port, connected => waiting.shift()?.(connected)),
    )
    const client = await online(A)
    const lost = change()
    await mosquitto.stop()
    await client.closed
    t.equal(await lost, false)
    t.notOk(bus.isConnected())
    await t.rejects(bus.publish('rebirth', A, 'rebirth', {}), { code: 'cell_unavailable' })

    const found = change()
    const again = await startBroker(port)
    t.teardown(again.stop)
    while (!(await found)) await change()
    const back = await online(A)
    back.publish(topicFor('state', A), 'back', { qos: 1 })
    t.match(await next(), { cellId: A, text: 'back' })
  })
})
