import t, { type Test } from 'tap'
import type { JournalFile } from '../../../daemon/commands/journal.ts'
import { DeviceHost } from '../../../daemon/devices/device-host.ts'
import { decodeStops, encodeStops, type StopFile } from '../../../daemon/devices/rest/stop-file.ts'
import type { FindEstopResponse } from '../../../daemon/devices/run-device-verb.ts'
import { createStoppableDevices } from '../../../daemon/devices/stoppable-host.ts'
import { CellEstop } from '../../../daemon/estop/cell-estop.ts'
import { EstopLatch } from '../../../daemon/estop/latch.ts'
import { DeviceFailure, TAKEN_OVER } from '../../../devices/device-failure.ts'
import { createDeviceId } from '../../../devices/device-id.ts'
import type { DeviceLink, StopContext } from '../../../devices/device-link.ts'
import { SimLinkConfig } from '../../../devices/links/sim/config.ts'
import { SimLink } from '../../../devices/links/sim/link.ts'
import { ShoalError } from '../../../shared/errors.ts'
import type { DeviceState } from '../../../shared/wire/device.ts'
import { type DeviceOutcome, NOTHING_SEEN } from '../../../shared/wire/device-outcome.ts'
import { DryRun } from '../../../shared/wire/plan-part.ts'
import { approvalFor } from '../../support/approval-for.ts'
import { silent } from '../../support/cell.ts'
import { cart, FakeLink } from '../../support/fake-link.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { command, coordinatorSigner, NOW, rig } from '../commands/rig.ts'
import { memoryFile } from '../estop/scene.ts'

const CART = createDeviceId('cart')

const STOP = { verb: 'stop', params: {}, hazard: 'safe' } as const
const TO = { x_m: 500, y_m: 0, speed_m_s: 1 }

/** A radio to a simulated rover, which can be cut: nothing arrives in either direction. */
class Radio extends SimLink implements DeviceLink {
  #last: DeviceState | undefined

  constructor(now: () => number, rover: object) {
    const config = { kind: 'sim', devices: [{ name: 'rover', profile: 'sim-rover', ...rover }] }
    super(SimLinkConfig.parse(config), { cellId: 'cell', now, nowMs: now })
  }

  get rover() {
    const [unit] = this.world.units
    if (unit === undefined) throw new Error('no rover')
    return unit
  }

  cut(): void {
    this.#last = this.rover.state
    this.rover.faults = { ...this.rover.faults, lost_percent: 100, has_frozen_sensors: true }
  }

  repair(): void {
    this.#last = undefined
    this.rover.faults = { ...this.rover.faults, lost_percent: 0, has_frozen_sensors: false }
  }

  override list() {
    const available = this.#last === undefined
    return super.list().map(device => ({ ...device, available }))
  }

  /** Answer to each stop in place of that of the rover. */
  answer: ((context?: StopContext) => Promise<DeviceOutcome>) | undefined

  override stop(...given: Parameters<DeviceLink['stop']>): Promise<DeviceOutcome> {
    const [deviceId, behaviour, context] = given
    return this.answer?.(context) ?? super.stop(deviceId, behaviour)
  }

  override readState(deviceId: string): DeviceState | undefined {
    return this.#last ?? super.readState(deviceId)
  }
}

/** Keeps the text of a file in memory. */
class MemoryFile implements StopFile {
  text: string | undefined
  read = async (): Promise<string | undefined> => this.text
  replace = async (text: string): Promise<void> => {
    this.text = text
  }
}

interface CellParts {
  link: DeviceLink
  clock: { now: number }
  stopFile?: StopFile
  journal?: JournalFile
  findEstopResponse?: FindEstopResponse
}

const openCell = async (
  t: Test,
  { link, clock, stopFile, journal, findEstopResponse }: CellParts,
) => {
  const host = new DeviceHost({
    config: {},
    links: [link],
    ...(stopFile && { stopFile }),
    ...(findEstopResponse && { findEstopResponse }),
    restMs: 20,
    recoverMs: 5000,
    repeatMs: 1000,
    now: () => clock.now,
    nowMs: () => clock.now,
    logger: silent,
  })
  t.teardown(() => host.keeper.close())
  await host.keeper.load()
  const at = await rig(t, { devices: host, ...(journal && { file: journal }) })
  const device_id = link.list()[0]?.deviceId ?? ''
  const start = async (verb: string, params: object) => {
    const asked = { device_id, verb, params: { ...params } }
    const { part } = DryRun.parse((await at.obey(command({ ...asked, mode: 'dry' })))?.result)
    const approval = approvalFor(part, { signer: coordinatorSigner, expiresAt: NOW + 60_000 })
    await at.executor.receive(command({ ...asked, approval }))
  }
  const findUnconfirmed = () => host.listDevices()[0]?.unconfirmedStop
  return { ...at, host, device_id, start, findUnconfirmed }
}

/** Lets time pass in steps of 200 ms, with room for what waits after each. */
const pass = async (link: Radio, clock: { now: number }, seconds: number): Promise<void> => {
  for (let left = seconds; left > 0; left -= 0.2) {
    clock.now += 200
    link.advance(200)
    await new Promise(setImmediate)
  }
}

const openRadio = async (t: Test, rover: object = {}) => {
  const clock = { now: NOW }
  const link = new Radio(() => clock.now, rover)
  const stopFile = new MemoryFile()
  const at = await openCell(t, { link, clock, stopFile })
  /** True speed, whatever arrives. */
  const speed = (): number => Number(link.rover.truth.speed_m_s)
  return { ...at, clock, link, stopFile, speed }
}

t.test('a rover whose link is cut is not said to be stopped, and is braked later', async t => {
  const { link, clock, stopFile, speed, ...at } = await openRadio(t)
  await at.start('move-to', TO)
  await pass(link, clock, 3)
  link.cut()
  await pass(link, clock, 8)
  await waitUntil('the command has ended', () => at.acks.at(-1)?.state === 'unknown')
  t.match(at.acks.at(-1), {
    reason: 'unconfirmed',
    message: /state_age_ms.*rover was not seen at rest: .*halt hold \(no answer\); no observation/,
    asked: {
      sent: [
        { name: 'go', answer: 'accepted' },
        { name: 'halt hold', answer: null },
      ],
    },
    seen: { state: 'unknown' },
  })
  t.equal(speed(), 1, 'in truth it drives on')
  t.match(at.findUnconfirmed(), { reason: /^move-to: state_age_ms/ })
  t.match(decodeStops(stopFile.text ?? ''), [{ behaviour: 'hold' }], 'a restart knows of it')
  link.repair()
  await pass(link, clock, 3)
  t.equal(speed(), 0, 'the stop was repeated when the link was back')
  t.equal(at.findUnconfirmed(), undefined)
  t.strictSame(decodeStops(stopFile.text ?? ''), [])
})

t.test('a rover that a limit stops is said to be stopped once it was seen at rest', async t => {
  const battery = { battery_percent: 21, battery_metres: 20 }
  const { link, clock, speed, ...at } = await openRadio(t, battery)
  await at.start('move-to', TO)
  await pass(link, clock, 8)
  await at.executor.waitUntilIdle()
  t.match(at.acks.at(-1), {
    state: 'failed',
    reason: 'envelope_violated',
    message: /^it was stopped: battery_percent is 9/,
    asked: { sent: [{ name: 'go' }, { name: 'halt hold', answer: 'accepted' }] },
    seen: { state: 'at_rest', values: { speed_m_s: 0, travelled_m: Number } },
  })
  t.equal(speed(), 0)
  t.equal(at.findUnconfirmed(), undefined)
})

t.test('a motion that a stop overtakes reports its operations and observations', async t => {
  const { link, clock, ...at } = await openRadio(t)
  await at.start('move-to', TO)
  await pass(link, clock, 2)
  await at.executor.receive(command({ device_id: at.device_id, ...STOP }))
  await pass(link, clock, 3)
  await at.executor.waitUntilIdle()
  t.match(
    at.acks.find(({ reason }) => reason === 'overtaken'),
    {
      state: 'unknown',
      asked: { sent: [{ name: 'go', answer: 'accepted' }] },
      seen: { values: { speed_m_s: Number, travelled_m: Number } },
    },
  )
})

t.test('an unconfirmed stop outlives the daemon', async t => {
  const { link, clock, stopFile, speed, host, ...at } = await openRadio(t)
  await at.start('move-to', TO)
  await pass(link, clock, 2)
  link.cut()
  await pass(link, clock, 8)
  await waitUntil('the stop is unconfirmed', () => at.findUnconfirmed() !== undefined)
  host.keeper.close()
  const next = await openCell(t, { link, clock, stopFile })
  t.match(next.findUnconfirmed(), { reason: /state_age_ms/ })
  link.repair()
  await pass(link, clock, 3)
  t.equal(speed(), 0)
  t.equal(next.findUnconfirmed(), undefined)
})

t.test('a motion that the death of the daemon interrupted is braked at the next start', async t => {
  const { link, clock, speed, ...at } = await openRadio(t)
  await at.start('move-to', TO)
  await pass(link, clock, 2)
  t.ok(speed() > 0)
  const next = await openCell(t, { link, clock, journal: at.file })
  await pass(link, clock, 3)
  await next.executor.waitUntilIdle()
  t.equal(speed(), 0)
  t.match(next.acks.at(-1), {
    state: 'unknown',
    reason: 'interrupted',
    message: /the daemon ended while it ran; .* is at rest/,
    asked: { sent: [{ name: 'halt hold', answer: 'accepted' }] },
    seen: { state: 'at_rest', values: { speed_m_s: 0 } },
  })
})

t.test('a person who took over while the daemon was dead is left alone', async t => {
  const { link, clock, speed, ...at } = await openRadio(t)
  await at.start('move-to', TO)
  await pass(link, clock, 2)
  const orders: unknown[] = []
  link.answer = async context => {
    orders.push(context?.isRepeated)
    throw new DeviceFailure(TAKEN_OVER, 'its mode is loiter', NOTHING_SEEN)
  }
  const next = await openCell(t, { link, clock, journal: at.file })
  await pass(link, clock, 3)
  await next.executor.waitUntilIdle()
  t.strictSame(orders, [true], 'the instruction is marked as repeated: no person asked for it')
  t.equal(speed(), 1)
  t.match(next.acks.at(-1), {
    state: 'unknown',
    reason: 'taken_over',
    message: /the daemon ended while it ran; .* had another mode, .* and received no order/,
    asked: { sent: [] },
  })
  t.equal(next.findUnconfirmed(), undefined)
})

t.test(
  'a device that rests for a moment after the death of the daemon is told to stop',
  async t => {
    const { link, set, host, clock } = await openLiar(t)
    set(0)
    const recovered = host.recoverRest(CART)
    t.strictSame(link.stopped, [CART])
    await new Promise(setImmediate)
    clock.now += 1000
    set(0)
    t.match(await recovered, {
      outcome: { asked: { sent: [{ name: 'stop' }] }, seen: { state: 'at_rest' } },
      isTakenOver: false,
    })
  },
)

t.test('a stop of an earlier run of the daemon does not replace a newer one', async t => {
  const { link, set, host, clock, stopFile } = await openLiar(t)
  await stopFile.replace(
    encodeStops([{ device_id: CART, behaviour: 'hold', reason: 'old', since: 0 }]),
  )
  const loaded = host.keeper.load()
  const recovered = host.recoverRest(CART)
  await loaded
  t.equal(host.keeper.findUnconfirmed(CART), undefined)
  await waitUntil('it is told', () => link.stopped.length > 0)
  clock.now += 1000
  set(0)
  const atRest = { outcome: { seen: { state: 'at_rest' } } }
  t.match(await recovered, atRest, 'the newer one is seen to its end')
})

/** A cart that says yes to everything; the test sets its readings. */
const openLiar = async (t: Test) => {
  const clock = { now: NOW }
  const link = new FakeLink()
  const { look } = cart.verbs
  if (look === undefined) throw new Error('no look')
  const verbs = { ...cart.verbs, beep: { ...look, hazard: 'caution' as const } }
  const profile = { ...cart, verbs, rest: [[{ property: 'speed_m_s', max: 0.1 }]] }
  link.add(CART, { profile })
  const set = (speed_m_s: number): void =>
    link.set(CART, clock.now, { battery_percent: 80, x_m: 0, y_m: 0, speed_m_s })
  set(1)
  const stopFile = new MemoryFile()
  const at = await openCell(t, { link, clock, stopFile })
  const accept: DeviceOutcome = {
    ...NOTHING_SEEN,
    asked: { sent: [{ name: 'stop', answer: 'ok' }] },
  }
  link.stopping = async () => accept
  const stop = () => at.obey(command({ device_id: CART, ...STOP }))
  return { ...at, accept, clock, link, profile, set, stop, stopFile }
}

t.test('a stop that is acknowledged by a device that drives on is unconfirmed', async t => {
  const { link, set, stop, clock, findUnconfirmed } = await openLiar(t)
  t.match(await stop(), {
    state: 'unknown',
    reason: 'unconfirmed',
    seen: { state: 'moving', values: { speed_m_s: 1 } },
  })
  t.match(findUnconfirmed(), { reason: 'stop: stop was asked' })
  clock.now += 1000
  set(1)
  t.strictSame(link.stopped, [CART], 'the order is repeated')
  set(0)
  t.equal(findUnconfirmed(), undefined)
})

t.test('a stop by a person that no device received is sent as a new order, once', async t => {
  const { link, set, stop, clock } = await openLiar(t)
  link.execution = async () => {
    throw new ShoalError('cell_unavailable', 'the radio is silent')
  }
  t.match(await stop(), { state: 'unknown', reason: 'unconfirmed' })
  t.match(link.stops, [{ isRepeated: false }])
  clock.now += 1000
  set(1)
  t.match(link.stops, [{ isRepeated: false }, { isRepeated: true }])
})

t.test(
  'a stop that no device received is a new order by a person after a restart, too',
  async t => {
    const { link, set, stop, clock, stopFile, host, accept } = await openLiar(t)
    const silence = async (): Promise<never> => {
      throw new ShoalError('cell_unavailable', 'the radio is silent')
    }
    link.execution = silence
    link.stopping = silence
    await stop()
    const restart = async () => {
      host.keeper.close()
      link.stops.length = 0
      const next = await openCell(t, { link, clock, stopFile })
      t.teardown(() => next.host.keeper.close())
      clock.now += 1000
      set(1)
      await new Promise(setImmediate)
      next.host.keeper.close()
    }
    link.stopping = async () => accept
    await restart()
    t.match(link.stops, [{ isRepeated: false }])
    await restart()
    t.match(link.stops, [{ isRepeated: true }], 'it was heard')
  },
)

t.test('the stop at the end of a motion is not an order by a person', async t => {
  const { link, start, executor } = await openLiar(t)
  link.execution = async () => {
    const sent = [{ name: 'go', answer: null }]
    throw new DeviceFailure('device_failed', 'a wheel is stuck', {
      ...NOTHING_SEEN,
      asked: { sent },
    })
  }
  await start('drive-to', { x_m: 3, y_m: 4 })
  await executor.waitUntilIdle()
  t.match(link.stops, [{ isRepeated: true }])
})

t.test('an unconfirmed stop ends when a newer command succeeds', async t => {
  const { link, set, stop, start, executor, findUnconfirmed } = await openLiar(t)
  await stop()
  link.seen = { state: 'reached', at: NOW, values: {} }
  await start('drive-to', { x_m: 3, y_m: 4 })
  await executor.waitUntilIdle()
  set(1)
  t.equal(findUnconfirmed(), undefined)
  t.strictSame(link.stopped, [])
})

t.test('an unconfirmed stop does not end when a lamp is switched', async t => {
  const { set, stop, obey, findUnconfirmed } = await openLiar(t)
  await stop()
  set(1)
  const beep = { device_id: CART, verb: 'beep', params: {}, hazard: 'caution' } as const
  t.match(await obey(command(beep)), { state: 'succeeded' })
  t.match(findUnconfirmed(), { reason: 'stop: stop was asked' })
})

t.test('a device that a person has taken over is not stopped again', async t => {
  const { link, set, stop, clock, findUnconfirmed } = await openLiar(t)
  await stop()
  link.stopping = async () => {
    throw new DeviceFailure(TAKEN_OVER, 'a pilot flies it', NOTHING_SEEN)
  }
  for (let round = 0; round < 3; round++) {
    clock.now += 1000
    set(1)
    await new Promise(setImmediate)
  }
  t.strictSame(link.stopped, [CART])
  t.equal(findUnconfirmed(), undefined)
})

t.test('a device that comes back is stopped without a wait for the next repetition', async t => {
  const { link, set, stop, profile } = await openLiar(t)
  await stop()
  link.add(CART, { profile, available: false })
  set(1)
  t.strictSame(link.stopped, [])
  link.add(CART, { profile })
  t.strictSame(link.stopped, [CART])
})

t.test('a device that is known only later is seen at rest by what it is', async t => {
  const { link, set, host, clock, profile } = await openLiar(t)
  const { rest: _, ...unknown } = { ...profile, id: 'unheard', atEstop: 'hold' as const }
  link.add(CART, { profile: unknown, available: false })
  const recovered = host.recoverRest(CART)
  link.add(CART, { profile })
  clock.now += 1000
  set(0)
  t.match(await recovered, { outcome: { seen: { state: 'at_rest' } } })
})

t.test('a hold under an e-stop does not end its landing, which is seen to its end', async t => {
  const clock = { now: NOW }
  const link = new Radio(() => clock.now, { profile: 'sim-drone' })
  const latch = await EstopLatch.open({ ...memoryFile(), now: () => clock.now, logger: silent })
  const estop = new CellEstop({ latch, now: () => clock.now, logger: silent })
  const findEstopResponse = (id: string) => estop.findResponse(id)
  const { host, device_id, obey } = await openCell(t, { link, clock, findEstopResponse })
  estop.attach({ cellId: 'cell', devices: createStoppableDevices(host) })
  link.rover.begin({ op: 'arm' })
  link.rover.begin({ op: 'take-off', altitude_m: 5, speed_m_s: 2 })
  await pass(link, clock, 8)
  await estop.engage({ reason: 'smoke', by: 'test' })
  await pass(link, clock, 1)
  t.match(estop.listStops()[0]?.failed, [{ reason: /^it is landing, moving at/ }])
  const hold = () => obey(command({ device_id, verb: 'hold', params: {}, hazard: 'safe' }))
  t.match(await hold(), {
    state: 'failed',
    reason: 'estop_under_way',
    message: /has its own response \(land\), which hold would end; nothing was sent/,
    asked: { sent: [{ name: 'halt land', answer: 'accepted' }] },
    seen: { state: 'moving' },
  })
  await pass(link, clock, 10)
  t.equal(link.rover.truth.is_flying, false)
  t.strictSame(estop.listStops()[0]?.failed, [])
  t.match(estop.listHeld(), [
    { behaviour: 'land', seen: { state: 'at_rest', values: { is_flying: false, travelled_m: 5 } } },
  ])
  t.match(await hold(), { state: 'succeeded', result: { behaviour: 'land' } })
})

t.test('an e-stop over a slow radio is confirmed by a late answer and by rest', async t => {
  const clock = { now: NOW }
  const link = new FakeLink()
  link.add(CART, { profile: { ...cart, rest: [[{ property: 'speed_m_s', max: 0.1 }]] } })
  const latch = await EstopLatch.open({ ...memoryFile(), now: () => clock.now, logger: silent })
  const estop = new CellEstop({ latch, now: () => clock.now, logger: silent, wait: async () => {} })
  const { host } = await openCell(t, { link, clock })
  estop.attach({ cellId: 'cell', devices: createStoppableDevices(host) })
  const answer = Promise.withResolvers<DeviceOutcome>()
  link.stopping = () => answer.promise
  await estop.engage({ reason: 'smoke', by: 'test' })
  await new Promise(setImmediate)
  const reason = () => estop.listStops()[0]?.failed[0]?.reason
  t.match(reason(), /did not acknowledge the stop within 500 ms/)
  link.set(CART, clock.now, { speed_m_s: 2, x_m: 0, y_m: 0 })
  answer.resolve({ ...NOTHING_SEEN, asked: { sent: [{ name: 'stop', answer: 'ok' }] } })
  await new Promise(setImmediate)
  t.match(reason(), /has acknowledged the stop and is moving at 2.0 m\/s/)
  link.set(CART, clock.now, { speed_m_s: 0, x_m: 3, y_m: 4 })
  t.equal(reason(), undefined)
  t.match(estop.listHeld(), [{ asked: { sent: [{ answer: 'ok' }] }, seen: { state: 'at_rest' } }])
  t.strictSame(link.stopped, [CART], 'and no further order was needed')
  link.set(CART, clock.now, { speed_m_s: 2, x_m: 3, y_m: 4 })
  t.equal(reason(), 'it moves again')
  await estop.retry()
  t.strictSame(link.stopped, [CART, CART], 'one that moves again is told again')
})

t.test('an e-stop of an earlier run of the daemon is repeated, and is not a new order', async t => {
  const clock = { now: NOW }
  const file = memoryFile()
  const start = async () => {
    const link = new FakeLink()
    link.add(CART, { profile: cart })
    const latch = await EstopLatch.open({ ...file, now: () => clock.now, logger: silent })
    const estop = new CellEstop({ latch, now: () => clock.now, logger: silent })
    const { host } = await openCell(t, { link, clock })
    estop.attach({ cellId: 'cell', devices: createStoppableDevices(host) })
    return { estop, link }
  }
  const first = await start()
  const { estop_id } = await first.estop.engage({ reason: 'smoke', by: 'test' })
  t.match(first.link.stops, [{ isRepeated: false, estopIds: [estop_id] }])
  const second = await start()
  const expected = { isRepeated: true, estopIds: [estop_id] }
  t.match(second.link.stops, [expected], 'the link can tell whether it has sent this one')
})
