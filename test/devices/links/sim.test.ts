import t, { type Test } from 'tap'
import { SimLinkConfig } from '../../../devices/links/sim/config.ts'
import { SimLink } from '../../../devices/links/sim/link.ts'
import type { Json } from '../../../devices/profile.ts'
import { type LinkBench, testDeviceLink } from '../../contracts/device-link.ts'

const NOW = 1_800_000_000_000
const CELL = 'cell_00000000000000000000000000'

/** A world whose time passes by `link.advance` only. */
const openWorld = (devices: object[], more: object = {}) => {
  const config = SimLinkConfig.parse({ kind: 'sim', devices, ...more })
  const clock = { now: NOW }
  const link = new SimLink(config, { cellId: CELL, now: () => clock.now, nowMs: () => 0 })
  const idOf = (name: string): string =>
    link.list().find(device => device.name === name)?.deviceId ?? ''
  const unitOf = (name: string) => {
    const unit = link.world.units.find(({ config }) => config.name === name)
    if (unit === undefined) throw new Error(`no unit ${name}`)
    return unit
  }
  const read = (name: string, property: string) =>
    link.readState(idOf(name))?.readings[property]?.value
  return { link, clock, idOf, unitOf, read }
}

/** Passes simulated time as fast as this process can, until the test ends. */
const passTime = (t: Test, link: SimLink, stepMs: () => number): void => {
  let isOver = false
  t.teardown(() => {
    isOver = true
  })
  const pass = (): void => {
    if (isOver) return
    link.advance(stepMs())
    setImmediate(pass)
  }
  pass()
}

const openBench = async (t: Test): Promise<LinkBench> => {
  const { link } = openWorld([
    { name: 'rover', profile: 'sim-rover' },
    { name: 'drone', profile: 'sim-drone', x_m: 5 },
    { name: 'printer', profile: 'sim-printer' },
    { name: 'switch', profile: 'sim-switch' },
  ])
  const received: Json[] = []
  const halted = new Set<string>()
  for (const unit of link.world.units) {
    const begin = unit.begin.bind(unit)
    unit.begin = operation => {
      received.push(operation)
      return begin(operation)
    }
    const halt = unit.halt.bind(unit)
    unit.halt = behaviour => {
      halted.add(unit.deviceId)
      halt(behaviour)
    }
  }
  const end = new AbortController()
  t.teardown(() => end.abort())
  link.start(end.signal)
  let stepMs = 200
  passTime(t, link, () => stepMs)
  const hang = (): void => {
    stepMs = 20
  }
  const hasStopped = (deviceId: string): boolean => halted.has(deviceId)
  return { link, listReceived: () => received, hang, hasStopped, end: () => end.abort() }
}

testDeviceLink(t, {
  open: openBench,
  uses: [
    { device: 'rover', verb: 'move-to', params: { x_m: 2, y_m: 1, speed_m_s: 1 } },
    {
      device: 'rover',
      verb: 'drive',
      params: { heading_degrees: 90, speed_m_s: 0.5, duration_s: 2 },
    },
    { device: 'rover', verb: 'dock', params: {} },
    { device: 'drone', verb: 'arm', params: {} },
    { device: 'drone', verb: 'take-off', params: { altitude_m: 3 } },
    { device: 'drone', verb: 'go-to', params: { x_m: 5, y_m: 5, altitude_m: 4 } },
    { device: 'drone', verb: 'land', params: {} },
    { device: 'printer', verb: 'raw-gcode', params: { lines: ['G28', 'G1 X10 F300'] } },
    { device: 'printer', verb: 'print-start', params: { file: 'bracket.3mf' } },
    { device: 'printer', verb: 'pause', params: {} },
    { device: 'printer', verb: 'resume', params: {} },
    { device: 'printer', verb: 'cancel', params: {} },
    { device: 'switch', verb: 'on', params: {} },
    { device: 'switch', verb: 'off', params: {} },
  ],
  hanging: { device: 'rover', verb: 'move-to', params: { x_m: 9000, y_m: 0 } },
})

/** Plans and executes a verb as a cell does. */
const run = (
  { link, idOf }: ReturnType<typeof openWorld>,
  name: string,
  verbName: string,
  params: object = {},
  signal = new AbortController().signal,
) => {
  const device = link.list().find(each => each.name === name)
  const verb = device?.profile.verbs[verbName]
  if (device === undefined || verb === undefined) throw new Error(`no ${verbName} of ${name}`)
  const target = { device_id: device.deviceId, options: {}, envelope: {} }
  const { operations } = verb.plan(verb.params.parse(params), target)
  return link.execute(idOf(name), operations, { signal, report: () => {}, bounds: {} })
}

/** Lets so much simulated time pass, with room for what waits after each step. */
const pass = async ({ link, clock }: ReturnType<typeof openWorld>, seconds: number) => {
  for (let left = seconds * 1000; left > 0; left -= 100) {
    clock.now += Math.min(left, 100)
    link.advance(Math.min(left, 100))
    await new Promise(setImmediate)
  }
}

t.test('equal seeds, commands and times lead to equal readings', async t => {
  const play = async (seed: number) => {
    const faults = { position_noise_m: 0.2 }
    const world = openWorld([{ name: 'r', profile: 'sim-rover', faults }], { seed })
    void run(world, 'r', 'move-to', { x_m: 3, y_m: 4 }).catch(() => {})
    await pass(world, 4)
    return world.link.readState(world.idOf('r'))
  }
  t.strictSame(await play(7), await play(7))
  t.notSame(await play(7), await play(8))
})

t.test('a rover uses its battery on the way, keeps its limits and charges at its dock', async t => {
  const world = openWorld([{ name: 'r', profile: 'sim-rover', battery_metres: 100 }])
  const speeds: number[] = []
  world.link.onChange(() => speeds.push(Number(world.read('r', 'speed_m_s'))))
  const moved = run(world, 'r', 'move-to', { x_m: 6, y_m: 8, speed_m_s: 1 })
  await pass(world, 20)
  t.match(await moved, {
    seen: { state: 'reached' },
    result: { speed_m_s: 0, is_docked: false, executed_count: 1 },
  })
  t.ok(Math.hypot(Number(world.read('r', 'x_m')) - 6, Number(world.read('r', 'y_m')) - 8) < 0.02)
  t.ok(Math.max(...speeds) <= 1 + 1e-9)
  t.ok(Math.abs(Number(world.read('r', 'battery_percent')) - 90) < 0.5)
  const docked = run(world, 'r', 'dock')
  await pass(world, 90)
  t.match(await docked, { result: { is_docked: true } })
  t.ok(Number(world.read('r', 'battery_percent')) > 90)
})

t.test('a rover with an empty battery stays where it is', async t => {
  const world = openWorld([{ name: 'r', profile: 'sim-rover', battery_metres: 2 }])
  const failed = t.rejects(run(world, 'r', 'move-to', { x_m: 5, y_m: 0 }), {
    name: 'DeviceFailure',
    reason: 'conflict',
  })
  await pass(world, 10)
  t.equal(world.read('r', 'battery_percent'), 0)
  t.ok(Number(world.read('r', 'x_m')) < 2.5)
  await failed
  await t.rejects(run(world, 'r', 'dock'), { message: /battery is empty/ })
})

t.test('a drone rises only when it is armed, and an e-stop brings it down', async t => {
  const world = openWorld([{ name: 'd', profile: 'sim-drone' }])
  await t.rejects(run(world, 'd', 'take-off', { altitude_m: 5 }), { message: /not armed/ })
  await run(world, 'd', 'arm')
  const risen = run(world, 'd', 'take-off', { altitude_m: 5 })
  await pass(world, 12)
  t.match(await risen, { result: { is_flying: true } })
  await world.link.stop(world.idOf('d'), 'land')
  await pass(world, 12)
  t.match(
    [world.read('d', 'is_flying'), world.read('d', 'is_armed'), world.read('d', 'altitude_m')],
    [false, false, 0],
  )
})

t.test('a stop of a printer ends the job and lets it cool', async t => {
  const world = openWorld([{ name: 'p', profile: 'sim-printer' }])
  await run(world, 'p', 'print-start', { file: 'a.3mf', duration_s: 100 })
  await pass(world, 150)
  t.equal(world.read('p', 'printer_state'), 'printing')
  t.ok(Number(world.read('p', 'progress_percent')) > 10)
  await t.rejects(run(world, 'p', 'raw-gcode', { lines: ['G28'] }), { message: /job is running/ })
  await world.link.stop(world.idOf('p'), 'cut')
  await pass(world, 150)
  t.equal(world.read('p', 'printer_state'), 'idle')
  t.ok(Number(world.read('p', 'nozzle_celsius')) < 30)
})

t.test('configured failures are what the cell sees', async t => {
  const rover = (name: string, faults: object) => ({ name, profile: 'sim-rover', faults })
  const world = openWorld([
    rover('refuses', { refusal: 'maintenance' }),
    rover('lost', { lost_percent: 100 }),
    rover('late', { reply_delay_ms: 1000 }),
    rover('frozen', { has_frozen_sensors: true }),
    rover('drops', { battery_drop: { after_s: 2, percent: 40 } }),
  ])
  const go = { x_m: 1, y_m: 0, speed_m_s: 1 }
  await t.rejects(run(world, 'refuses', 'move-to', go), { message: /maintenance/ })
  t.ok(await run(world, 'refuses', 'stop'), 'but a stop works')

  const giveUp = new AbortController()
  const lost = run(world, 'lost', 'move-to', go, giveUp.signal)
  const late = run(world, 'late', 'move-to', go)
  await pass(world, 0.9)
  t.equal(world.read('late', 'executed_count'), 0)
  await pass(world, 5)
  t.match(await late, { result: { executed_count: 1 } })
  t.equal(world.read('lost', 'executed_count'), 0)
  giveUp.abort(new Error('given up'))
  await t.rejects(lost, { message: 'given up' })
  for (const name of ['lost', 'late'])
    await t.rejects(world.link.stop(world.idOf(name), 'hold'), {
      name: 'DeviceFailure',
      reason: 'request_timeout',
    })

  const { readings } = world.link.readState(world.idOf('frozen')) ?? {}
  t.same(readings, {}, 'sensors that were always frozen have never reported')
  t.ok(Number(world.read('drops', 'battery_percent')) < 63)
})

t.test('what a newer command takes over does not succeed', async t => {
  const world = openWorld([{ name: 'd', profile: 'sim-drone' }])
  await run(world, 'd', 'arm')
  const risen = run(world, 'd', 'take-off', { altitude_m: 50 })
  const interrupted = t.rejects(risen, { message: /stopped before it had finished/ })
  await pass(world, 5)
  const landed = run(world, 'd', 'land')
  await pass(world, 20)
  await interrupted
  t.match(await landed, { seen: { state: 'at_rest', values: { is_flying: false } } })
})

t.test('a device whose sensors have never reported is not available', t => {
  const faults = { has_frozen_sensors: true }
  const devices = [{ name: 'rover', profile: 'sim-rover', faults }]
  const config = SimLinkConfig.parse({ kind: 'sim', devices })
  const link = new SimLink(config, { cellId: 'cell', now: () => 1, nowMs: () => 1 })
  link.advance(1000)
  const reason = 'its sensors have not reported yet'
  t.match(link.list(), [{ available: false, reason }])
  t.match(link.readState(link.list()[0]?.deviceId ?? ''), { seen_at: null, readings: {} })
  const [unit] = link.world.units
  if (unit !== undefined) unit.faults = { ...unit.faults, has_frozen_sensors: false }
  link.advance(1000)
  t.match(link.list(), [{ available: true, reason: undefined }])
  t.end()
})
