import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import * as z from 'zod'
import { KnownCoordinators } from '../../../daemon/coordinators/known-coordinators.ts'
import { announceService } from '../../../daemon/services/announce.ts'
import { Nudge } from '../../../daemon/uplink/nudge.ts'
import { Uplink } from '../../../daemon/uplink/uplink.ts'
import { newId } from '../../../shared/ids.ts'
import { Announce } from '../../../shared/wire/announce.ts'
import { DeviceFacts } from '../../../shared/wire/device.ts'
import { Envelope, envelope } from '../../../shared/wire/envelope.ts'
import { MergedSafetyEnvelope } from '../../../shared/wire/safety-envelope.ts'
import { HistoryBody, type Sample } from '../../../shared/wire/telemetry.ts'
import { topicFor } from '../../../shared/wire/topics.ts'
import { announceDevices, createDeviceFacts } from '../../support/device-facts.ts'
import {
  logger,
  newHealth,
  newIdentity,
  noWait,
  type StandIn,
  standIn,
  waitUntilTrue,
} from '../stand-in.ts'

type UplinkOptions = ConstructorParameters<typeof Uplink>[0]

const sample = (takenAt: number): Sample => ({
  taken_at: takenAt,
  host: {
    cpu_percent: 1,
    memory_total_bytes: 2,
    memory_used_bytes: 1,
    disk_total_bytes: 2,
    disk_used_bytes: 1,
    network_received_bytes_per_second: null,
    network_sent_bytes_per_second: null,
  },
  gpus: [],
  engines: [],
  spool_dropped: 0,
})

const about: Announce = {
  name: 'cell',
  version: '0.1.0',
  protocol: 1,
  host: {
    hostname: 'h',
    os: 'o',
    kernel: 'k',
    arch: 'x64',
    cpu_model: 'c',
    cpu_count: 1,
    memory_total_bytes: 1,
  },
  gpus: [],
  engines: [],
  tags: [],
}

/** Birth as a coordinator of level 8 reads it: it refuses the whole one for an unknown limit. */
const OlderAnnounce = Announce.extend({
  devices: z.array(
    DeviceFacts.extend({
      envelope: z.strictObject(
        MergedSafetyEnvelope.omit({
          min_battery_to_start_volts: true,
          min_battery_to_continue_volts: true,
        }).shape,
      ),
    }),
  ),
})

/** A running uplink with an announcing service; everything is let go at the end of the test. */
const cell = async (
  t: { teardown: (done: () => void | Promise<void>) => unknown },
  coordinator: StandIn,
  given: Partial<UplinkOptions> = {},
) => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-uplink-'))
  const stop = new AbortController()
  const identity = newIdentity(coordinator.url)
  const health = newHealth()
  const pauses: number[] = []
  const uplink = new Uplink({
    identity,
    coordinators: new KnownCoordinators({ url: coordinator.url, hasPinnedAuthority: false }),
    connectTimeoutSeconds: 10,
    spool: { folder, maxBytes: 1024 * 1024, drainBytesPerSecond: 1e9 },
    health,
    nudge: new Nudge(),
    logger,
    wait: noWait(pauses),
    random: () => 1,
    ...given,
  })
  const now = { about }
  const leave = new AbortController()
  const changes: (() => void)[] = []
  const announce = announceService({
    uplink,
    describe: () => now.about,
    intervalSeconds: 5,
    onChange: listener => {
      changes.push(listener)
      return () => {}
    },
    leaving: leave.signal,
    logger,
    wait: (_ms, signal) =>
      new Promise(resolve => signal.addEventListener('abort', () => resolve())),
  })
  const context = {
    signal: stop.signal,
    fail: (error: Error) => t.teardown(() => Promise.reject(error)),
  }
  await announce.start(context)
  await uplink.start(context)
  const state = () => health.view()['uplink connection']?.state
  t.teardown(async () => {
    stop.abort()
    await waitUntilTrue(() => state() === 'stopped')
    await coordinator.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  const change = (next: Announce) => {
    now.about = next
    for (const listener of changes) listener()
  }
  return { uplink, identity, health, stop, leave, pauses, state, change, folder }
}

const heardOf = (coordinator: StandIn, topic: string) =>
  coordinator.heard.filter(heard => heard.topic === topic)

t.test('uplink', async t => {
  t.test('sends its birth, then the ready state, then telemetry', async t => {
    const coordinator = await standIn()
    const { uplink, identity, state } = await cell(t, coordinator)
    await waitUntilTrue(() => state() === 'running')
    uplink.offer(sample(1))
    await waitUntilTrue(() => coordinator.heard.length === 3)
    t.strictSame(coordinator.state.clientIds, [identity.cell_id])
    t.strictSame(
      coordinator.heard.map(({ topic }) => topic),
      ['birth', 'state', 'telemetry'],
    )
    for (const { message } of coordinator.heard) {
      t.strictSame(Envelope.parse(message), message)
      t.equal(message.epoch, 7)
      t.equal(message.sender, identity.cell_id)
    }
    t.strictSame(Announce.parse(coordinator.heard[0]?.message.body), about)
    t.strictSame(coordinator.heard[1]?.message.body, { state: 'ready' })
    t.strictSame(coordinator.heard[2]?.message.body, sample(1))
  })

  t.test('a coordinator that knows no limits in volts gets a birth without them', async t => {
    const envelope = { max_speed_m_s: 1, min_battery_to_start_volts: 14.2 }
    const announced = { ...about, ...announceDevices([createDeviceFacts('drone', { envelope })]) }
    const [older, newer] = await Promise.all([standIn(undefined, {}), standIn()])
    const bodies = [older, newer].map(async coordinator => {
      const { change } = await cell(t, coordinator)
      await waitUntilTrue(() => heardOf(coordinator, 'state').length > 0)
      const before = heardOf(coordinator, 'birth').length
      change(announced)
      await waitUntilTrue(() => heardOf(coordinator, 'birth').length > before)
      return heardOf(coordinator, 'birth').at(-1)?.message.body
    })
    t.match(OlderAnnounce.parse(await bodies[0]), { devices: [{ envelope: { max_speed_m_s: 1 } }] })
    t.notOk(OlderAnnounce.safeParse(await bodies[1]).success)
    t.match(Announce.parse(await bodies[1]), { devices: [{ envelope }] })
  })

  t.test('ignores retained messages', async t => {
    const coordinator = await standIn()
    const { identity, state, uplink } = await cell(t, coordinator)
    const heard: string[] = []
    uplink.on('cmd', ({ body }) => heard.push(String(body)))
    const publish = (body: string, retain: boolean) =>
      new Promise<void>(resolve =>
        coordinator.broker.publish(
          {
            cmd: 'publish',
            topic: topicFor('cmd', identity.cell_id, newId('cmd')),
            payload: JSON.stringify(envelope('coordinator', 1, 'cmd', body)),
            qos: 1,
            retain,
            dup: false,
          },
          () => resolve(),
        ),
      )
    await waitUntilTrue(() => state() === 'running')
    await publish('new', true)
    await waitUntilTrue(() => heard.length === 1)
    coordinator.cut()
    await waitUntilTrue(() => state() !== 'running')
    await waitUntilTrue(() => state() === 'running')
    await publish('newer', false)
    await waitUntilTrue(() => heard.length === 2)
    t.strictSame(heard, ['new', 'newer'])
  })

  t.test('repeats its birth on request and on change', async t => {
    const coordinator = await standIn()
    const { identity, state, change } = await cell(t, coordinator)
    await waitUntilTrue(() => state() === 'running')
    await new Promise<void>(resolve =>
      coordinator.broker.publish(
        {
          cmd: 'publish',
          topic: topicFor('rebirth', identity.cell_id),
          payload: JSON.stringify(envelope('coordinator', 1, 'rebirth', {})),
          qos: 1,
          retain: false,
          dup: false,
        },
        () => resolve(),
      ),
    )
    await waitUntilTrue(() => heardOf(coordinator, 'birth').length === 2)
    const engine = {
      weights: 'w',
      kind: 'chat' as const,
      models: ['m'],
      state: 'ready' as const,
      slots: 8,
      slots_busy: 0,
      queued: 0,
      context_length: 2048,
      restarts: 0,
    }
    change({ ...about, engines: [engine] })
    await waitUntilTrue(() => heardOf(coordinator, 'birth').length === 3)
    change({ ...about, engines: [{ ...engine, slots_busy: 3 }] })
    change({ ...about, engines: [{ ...engine, idle_seconds: 7, progress_percent: 3 }] })
    change({ ...about, engines: [{ ...engine, slots_busy: 3 }], tags: ['new'] })
    await waitUntilTrue(() => heardOf(coordinator, 'birth').length === 4)
    t.match(heardOf(coordinator, 'birth')[3]?.message.body, { tags: ['new'] })
  })

  t.test('a cut connection leaves the last will, and the uplink reconnects', async t => {
    const coordinator = await standIn()
    const { state } = await cell(t, coordinator)
    await waitUntilTrue(() => state() === 'running')
    coordinator.cut()
    await waitUntilTrue(() => heardOf(coordinator, 'birth').length === 2 && state() === 'running')
    const states = heardOf(coordinator, 'state')
    t.strictSame(
      states.map(({ message }) => (message.body as { state: string }).state),
      ['ready', 'lost', 'ready'],
    )
    t.equal(states[1]?.message.epoch, 7)
  })

  t.test('a deliberate end announces itself and leaves no last will', async t => {
    const coordinator = await standIn()
    const { stop, state } = await cell(t, coordinator)
    await waitUntilTrue(() => state() === 'running')
    const left = new Promise(resolve => coordinator.broker.once('clientDisconnect', resolve))
    stop.abort()
    await left
    await waitUntilTrue(() => state() === 'stopped')
    t.strictSame(
      heardOf(coordinator, 'state').map(({ message }) => message.body),
      [{ state: 'ready' }, { state: 'stopped' }],
    )
  })

  t.test('an end while the cell announces itself leaves no last will', async t => {
    const coordinator = await standIn()
    const { stop, state } = await cell(t, coordinator)
    coordinator.state.accept = topic => {
      if (topic.endsWith('/birth')) stop.abort()
      return true
    }
    await waitUntilTrue(() => state() === 'stopped' && coordinator.countSessions() === 0)
    t.strictSame(
      heardOf(coordinator, 'state').map(({ message }) => message.body),
      [{ state: 'stopped' }],
    )
  })

  t.test('an end while samples of an outage are sent leaves no last will', async t => {
    const coordinator = await standIn()
    coordinator.state.refuse = { status: 503, body: '' }
    const { uplink, stop, state } = await cell(t, coordinator)
    for (let i = 0; i < 500; i++) uplink.offer(sample(i))
    await waitUntilTrue(() => state() === 'waiting')
    coordinator.state.accept = topic => {
      if (topic.endsWith('/history')) stop.abort()
      return true
    }
    coordinator.state.refuse = undefined
    await waitUntilTrue(() => state() === 'stopped' && coordinator.countSessions() === 0)
    t.strictSame(
      heardOf(coordinator, 'state').map(({ message }) => message.body),
      [{ state: 'ready' }, { state: 'stopped' }],
    )
  })

  t.test('a sample that is taken during the end is not sent and does not cut it short', async t => {
    const coordinator = await standIn()
    const { uplink, stop, state } = await cell(t, coordinator)
    await waitUntilTrue(() => state() === 'running')
    stop.abort()
    uplink.offer(sample(1))
    await waitUntilTrue(() => state() === 'stopped' && coordinator.countSessions() === 0)
    t.strictSame(
      heardOf(coordinator, 'state').map(({ message }) => message.body),
      [{ state: 'ready' }, { state: 'stopped' }],
    )
    t.strictSame(heardOf(coordinator, 'telemetry'), [])
  })

  t.test('a draining cell does not report ready again', async t => {
    const coordinator = await standIn()
    const { uplink, leave, state } = await cell(t, coordinator)
    await waitUntilTrue(() => state() === 'running')
    leave.abort()
    uplink.sayDraining()
    await waitUntilTrue(() => heardOf(coordinator, 'state').length === 2)
    coordinator.cut()
    await waitUntilTrue(() => heardOf(coordinator, 'birth').length === 2 && state() === 'running')
    t.strictSame(
      heardOf(coordinator, 'state').map(({ message }) => (message.body as { state: string }).state),
      ['ready', 'draining', 'lost', 'draining'],
    )
  })

  t.test('samples of an outage arrive as history, complete and in order', async t => {
    const coordinator = await standIn()
    coordinator.state.refuse = { status: 503, body: '' }
    const { uplink, state } = await cell(t, coordinator)
    for (let i = 0; i < 230; i++) uplink.offer(sample(i))
    await waitUntilTrue(() => state() === 'waiting')
    coordinator.state.refuse = undefined
    const listTaken = () =>
      heardOf(coordinator, 'history').flatMap(({ message }) =>
        HistoryBody.parse(message.body).samples.map(({ taken_at }) => taken_at),
      )
    await waitUntilTrue(() => listTaken().length >= 230)
    t.strictSame(
      listTaken(),
      Array.from({ length: 230 }, (_, i) => i),
    )
    t.equal(uplink.countDropped(), 0)
  })

  t.test('history interrupted by a cut is sent again with the same id', async t => {
    const coordinator = await standIn()
    coordinator.state.refuse = { status: 503, body: '' }
    const { uplink, state } = await cell(t, coordinator)
    for (let i = 0; i < 100; i++) uplink.offer(sample(i))
    await waitUntilTrue(() => state() === 'waiting')
    const ids: string[] = []
    coordinator.state.accept = (topic, { id }) => {
      if (!topic.endsWith('/history')) return true
      ids.push(id)
      return ids.length > 2
    }
    coordinator.state.refuse = undefined
    await waitUntilTrue(() => heardOf(coordinator, 'history').length === 2)
    t.equal(new Set(ids).size, 2)
    t.ok(ids.length > 2)
    t.equal(uplink.countDropped(), 0)
  })

  t.test(
    'a message that the coordinator always refuses is given up, and the others are not',
    async t => {
      const coordinator = await standIn()
      coordinator.state.refuse = { status: 503, body: '' }
      const { uplink, state } = await cell(t, coordinator)
      for (let i = 0; i < 200; i++) uplink.offer(sample(i))
      await waitUntilTrue(() => state() === 'waiting')
      const isPoison = ({ body }: Envelope) =>
        (body as { samples: Sample[] }).samples.some(({ taken_at }) => taken_at === 60)
      coordinator.state.accept = (topic, message) =>
        !topic.endsWith('/history') || !isPoison(message)
      coordinator.state.refuse = undefined
      await waitUntilTrue(() => uplink.countDropped() > 0)
      await waitUntilTrue(() => heardOf(coordinator, 'history').length >= 3)
      t.equal(uplink.countDropped(), 50)
      const taken = new Set(
        heardOf(coordinator, 'history').flatMap(({ message }) =>
          HistoryBody.parse(message.body).samples.map(({ taken_at }) => taken_at),
        ),
      )
      t.equal(taken.size, 150)
    },
  )

  t.test('a durable message survives an outage and the process, and is sent first', async t => {
    const outbox = { folder: mkdtempSync(join(tmpdir(), 'shoal-outbox-')), maxBytes: 1024 * 1024 }
    t.teardown(() => rmSync(outbox.folder, { recursive: true, force: true }))
    const ids = Array.from({ length: 25 }, () => newId('cmd'))
    await t.test('the first process stores it', async t => {
      const away = await standIn()
      away.state.refuse = { status: 503, body: '' }
      const { uplink, state } = await cell(t, away, { outbox })
      await waitUntilTrue(() => state() === 'waiting')
      for (const id of ids) await uplink.deliver('ack', { command_id: id }, id)
    })
    const coordinator = await standIn()
    coordinator.state.refuse = { status: 503, body: '' }
    const { uplink, state } = await cell(t, coordinator, { outbox })
    for (let i = 0; i < 20; i++) uplink.offer(sample(i))
    await waitUntilTrue(() => state() === 'waiting')
    let cuts = 4
    coordinator.state.accept = topic => !topic.includes('/ack/') || cuts-- <= 0
    coordinator.state.refuse = undefined
    await waitUntilTrue(() => heardOf(coordinator, 'history').length > 0)
    const heard = coordinator.heard.map(({ message: { type, body } }) => ({ type, body }))
    const acks = heard.filter(({ type }) => type === 'ack')
    const told = acks.map(({ body }) => (body as { command_id: string }).command_id)
    t.strictSame([...new Set(told)].sort(), ids.toSorted(), 'over four connections that ended')
    t.ok(
      heard.findLastIndex(({ type }) => type === 'ack') <
        heard.findIndex(({ type }) => type === 'history'),
    )
    coordinator.heard.length = 0
    await uplink.deliver('ack', { command_id: 'live' }, ids[0])
    await waitUntilTrue(() => coordinator.heard.some(({ message }) => message.type === 'ack'))
    t.equal(uplink.countDropped(), 0)
  })

  t.test('a durable message is rejected without both connection and disk', async t => {
    const coordinator = await standIn()
    coordinator.state.refuse = { status: 503, body: '' }
    const { uplink } = await cell(t, coordinator)
    await t.rejects(uplink.deliver('ack', {}, newId('cmd')), { message: /no connection/ })
  })

  t.test('pauses grow while the coordinator is unreachable', async t => {
    const coordinator = await standIn()
    coordinator.state.refuse = { status: 503, body: '' }
    const { pauses } = await cell(t, coordinator)
    await waitUntilTrue(() => pauses.length >= 8)
    t.strictSame(pauses.slice(0, 8), [250, 500, 1000, 2000, 4000, 4000, 4000, 4000])
  })

  for (const [status, pause, code] of [
    [401, 60_000, 'auth_required'],
    [401, 7000, undefined],
    [403, 60_000, undefined],
    [426, 60_000, undefined],
    [429, 7000, 'rate_limited'],
    [503, 7000, undefined],
  ] as const)
    t.test(
      `a refusal with ${status} ${code ?? ''} is reported and followed by a pause of ${pause} ms and a new dial`,
      async t => {
        const coordinator = await standIn()
        const message = `because of ${status}`
        coordinator.state.refuse = {
          status,
          body: JSON.stringify({ error: { message, code } }),
          headers: { 'Retry-After': 7 },
        }
        const { pauses, health, state } = await cell(t, coordinator)
        await waitUntilTrue(() => pauses.length > 0)
        t.equal(pauses[0], pause)
        t.match(health.view()['uplink connection']?.reason, message)
        coordinator.state.refuse = undefined
        await waitUntilTrue(() => state() === 'running')
      },
    )

  t.test('the uplink connects without a disk', async t => {
    const coordinator = await standIn()
    coordinator.state.refuse = { status: 503, body: '' }
    const spool = { folder: '/dev/null/spool', maxBytes: 1024 * 1024, drainBytesPerSecond: 1e9 }
    const { uplink, state, health } = await cell(t, coordinator, { spool })
    uplink.offer(sample(1))
    await waitUntilTrue(() => state() === 'waiting')
    coordinator.state.refuse = undefined
    await waitUntilTrue(() => state() === 'running')
    uplink.offer(sample(2))
    await waitUntilTrue(() => heardOf(coordinator, 'telemetry').length === 1)
    t.equal(uplink.countDropped(), 1)
    t.match(health.view().spool, { state: 'waiting', reason: /ENOTDIR/ })
  })
})

t.test('an announcement is repeated within ten minutes, spread over the cells', async t => {
  for (const [random, repeatsAtMs] of [
    [0, 600_000],
    [0.5, 450_000],
  ] as const) {
    const stop = new AbortController()
    const clock = { ms: 0 }
    const births: number[] = []
    let look = () => {}
    const announce = announceService({
      uplink: {
        onConnect: () => () => {},
        onRebirth: () => () => {},
        publishToAll: async () => void births.push(clock.ms),
        countSessions: () => 1,
      },
      describe: () => about,
      intervalSeconds: 5,
      onChange: listener => {
        look = listener
        return () => {}
      },
      logger,
      wait: (_ms, signal) =>
        new Promise(resolve => signal.addEventListener('abort', () => resolve())),
      nowMs: () => clock.ms,
      random: () => random,
    })
    await announce.start({ signal: stop.signal, fail: error => t.fail(error.message) })
    await announce.again()
    for (clock.ms = 0; clock.ms <= 600_000; clock.ms += 5000) look()
    t.strictSame(births.slice(0, 2), [0, repeatsAtMs])
    stop.abort()
  }
})
