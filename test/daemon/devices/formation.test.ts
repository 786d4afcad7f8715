import t from 'tap'
import type { Bounds } from '../../../daemon/commands/clock.ts'
import type { Verb } from '../../../daemon/commands/verb.ts'
import { DeviceHost } from '../../../daemon/devices/device-host.ts'
import { measureDistance } from '../../../daemon/devices/formation/check-formation.ts'
import { CoordinatorTime } from '../../../daemon/devices/formation/coordinator-time.ts'
import { FormationRun } from '../../../daemon/devices/formation/formation-run.ts'
import { openFormationVerb } from '../../../daemon/devices/formation/open-formation-verb.ts'
import { type FindUnitVerb, planUnits } from '../../../daemon/devices/formation/unit-plans.ts'
import type { HostedDevice } from '../../../daemon/devices/hosted-device.ts'
import { SimLinkConfig } from '../../../devices/links/sim/config.ts'
import { SimLink } from '../../../devices/links/sim/link.ts'
import copter from '../../../devices/profiles/copter.ts'
import { ShoalError } from '../../../shared/errors.ts'
import type { DeviceOutcome } from '../../../shared/wire/device-outcome.ts'
import type { FormationParams } from '../../../shared/wire/formation.ts'
import { CRITICAL_GATE, FORMATION_GATE } from '../../../shared/wire/plan-part.ts'
import { approvalFor } from '../../support/approval-for.ts'
import { silent } from '../../support/cell.ts'
import { FakeLink } from '../../support/fake-link.ts'
import { CELL, coordinatorSigner, NOW } from '../commands/rig.ts'

const openRover = () => {
  const devices = [{ name: 'rover', profile: 'sim-rover', x_m: 0, y_m: 0 }]
  const config = SimLinkConfig.parse({ kind: 'sim', devices })
  const clock = { now: () => NOW, nowMs: () => 0 }
  const sim = new SimLink(config, { cellId: CELL, ...clock })
  const host = new DeviceHost({ config: { site: 'hall' }, links: [sim], ...clock, logger: silent })
  return { host, id: sim.list()[0]?.deviceId ?? '' }
}

const planMove = (device_id: string, delay_s: number): FormationParams => {
  const move = { device_id, to: [2, 0, 0] as [number, number, number], speed_m_s: 0.5, delay_s }
  const moves = [{ ...move, from: [0, 0, 0] as [number, number, number] }]
  return { position_m: 0.1, skew_ms: 200, stages: [{ begins_s: 0, duration_s: 10, moves }] }
}

t.test('a unit whose device was taken during its delay does not move', async t => {
  const { host, id } = openRover()
  const moved: string[] = []
  const findVerb: FindUnitVerb = (...given) => {
    const verb = host.findVerb(...given)
    const run = async () => moved.push(id)
    return verb && { ...verb, run }
  }
  const other = Promise.withResolvers<void>()
  const runWith = async (onWait: () => void) => {
    let at = NOW
    const wait = async (ms: number): Promise<void> => {
      at += ms
      onWait()
    }
    const params = planMove(id, 0.5)
    const bounds = () => ({ earliest: at, latest: at })
    const time = new CoordinatorTime({ clock: { bounds }, askTime: async () => {}, wait })
    const context = { signal: new AbortController().signal, report: () => {} }
    const units = planUnits(CELL, params, findVerb)
    const parts = { host, findStop: () => undefined, now: () => NOW, time, bounds: params }
    return new FormationRun({ ...parts, start_at: NOW, units, context }).run()
  }
  await runWith(() => {})
  t.strictSame(moved, [id])
  const taken = runWith(
    () => void host.runs.track(host.find(id) as HostedDevice, 'move-to', () => other.promise),
  )
  await t.rejects(taken, { code: 'conflict', message: /^idle .*\["move-to"\]/ })
  t.strictSame(moved, [id], 'it has not moved again')
  other.resolve()
})

t.test('a formation reports operations and states of units, also when it fails', async t => {
  const { host, id } = openRover()
  const outcome: DeviceOutcome = {
    asked: { sent: [{ name: 'go', answer: 'accepted' }] },
    seen: { state: 'moving', at: NOW, values: { speed_m_s: 0.5 } },
  }
  const runWith = async (end: () => Promise<null>) => {
    const findVerb: FindUnitVerb = (...given) => {
      const verb = host.findVerb(...given)
      const run: Verb['run'] = async (_part, { noteOutcome }) => {
        noteOutcome?.(outcome)
        return end()
      }
      return verb && { ...verb, run }
    }
    const params = planMove(id, 0)
    const bounds = () => ({ earliest: NOW, latest: NOW })
    const time = new CoordinatorTime({ clock: { bounds }, askTime: async () => {} })
    const units = planUnits(CELL, params, findVerb)
    const results: unknown[] = []
    const noteResult = (result: unknown): void => void results.push(result)
    const context = { signal: new AbortController().signal, report: () => {}, noteResult }
    const parts = { host, findStop: () => undefined, now: () => NOW, time, bounds: params }
    const run = new FormationRun({ ...parts, start_at: NOW, units, context }).run()
    return { end: await run.catch((error: Error) => error), results }
  }
  const unit = { device_id: id, distance_m: 2, ...outcome }
  t.strictSame(await runWith(async () => null), { end: { units: [unit] }, results: [] })
  const failed = await runWith(async () => {
    throw new ShoalError('conflict', 'the wheel is stuck')
  })
  t.match(failed.end, { message: 'the wheel is stuck' })
  t.strictSame(failed.results, [{ units: [unit] }])
})

t.test('a unit whose own move needs a gate of its own is refused', t => {
  const { host, id } = openRover()
  const findVerb: FindUnitVerb = (...given) => {
    const verb = host.findVerb(...given)
    return verb && { ...verb, plan: params => ({ ...verb.plan(params), gate: CRITICAL_GATE }) }
  }
  t.throws(() => planUnits(CELL, planMove(id, 0), findVerb), {
    code: 'conflict',
    message: new RegExp(`^move-to of ${id} needs ${CRITICAL_GATE}`),
  })
  t.end()
})

const YARD = { lat: 48.1, lon: 11.5, x_bearing_degrees: 90 }

t.test('a unit on the globe moves to the degrees of its place, by the origin of the plan', t => {
  const link = new FakeLink()
  const options = {
    ...{ system_id: 1, component_id: 1, return_altitude_m: 15, return_speed_m_s: 8 },
    ...{ vehicle_type: 'quadrotor', autopilot: 'ardupilot', vehicle_class: 'copter' },
    can_hover: true,
  }
  link.add('dev_copter', { profile: copter, options })
  const clock = { now: () => NOW, nowMs: () => 0 }
  const host = new DeviceHost({ config: {}, links: [link], ...clock, logger: silent })
  const findVerb: FindUnitVerb = (...given) => host.findVerb(...given)
  const move = { device_id: 'dev_copter', speed_m_s: 1, delay_s: 0 }
  const [from, to] = [
    [0, 0, 10],
    [148.968, -222.383, 10],
  ] as [number, number, number][]
  const stages = [{ begins_s: 0, duration_s: 10, moves: [{ ...move, from, to }] }]
  const [unit] = planUnits(CELL, { stages, origin: YARD } as never, findVerb)
  // two thousandths of a degree are 222 m to the south and 149 m to the east
  t.match(unit?.part.bounds.motion, {
    path: [{ frame: 'wgs84', x: 48.098, y: 11.502, altitude_m: 10 }],
  })
  t.throws(() => planUnits(CELL, { stages } as never, findVerb), {
    code: 'conflict',
    message: /dev_copter .* no origin/,
  })

  const context = { host, now: () => NOW }
  const measure = (origin?: typeof YARD) =>
    measureDistance('dev_copter', [0, 0, 10], origin, context)
  t.equal(measure(YARD), null, 'before the first reading')
  link.set('dev_copter', NOW, { lat: 48.1, lon: 11.5, altitude_m: 13 })
  t.equal(measure(YARD), 3)
  t.equal(measure(), null, 'without an origin')
  t.end()
})

/** Verb of formations whose time the test sets: each wait passes, and is followed by `onWait`. */
const openFormation = (onWait: (clock: { bounds: Bounds | undefined }) => void = () => {}) => {
  const { host, id } = openRover()
  const startedAt: (number | undefined)[] = []
  const clock = { bounds: { earliest: NOW, latest: NOW } as Bounds | undefined }
  const verb = openFormationVerb({
    cellId: CELL,
    host: {
      find: deviceId => host.find(deviceId),
      runs: host.runs,
      findVerb: (...given) => {
        const own = host.findVerb(...given)
        return own && { ...own, run: async () => startedAt.push(clock.bounds?.earliest) }
      },
    },
    estop: { findStop: () => undefined, onEngage: () => () => {} },
    clock: { bounds: () => clock.bounds },
    askTime: async () => {},
    wait: async ms => {
      if (clock.bounds !== undefined)
        clock.bounds = { earliest: clock.bounds.earliest + ms, latest: clock.bounds.latest + ms }
      onWait(clock)
    },
    now: () => NOW,
  })
  const params = planMove(id, 0)
  const part = {
    ...{ cell_id: CELL, verb: verb.verb, hazard: 'unsafe' as const, gate: FORMATION_GATE },
    ...verb.plan(params),
  }
  const { signal } = new AbortController()
  /** Runs the approved part of this cell. */
  const run = (start_at?: number, approvedMs = 60_000) =>
    verb.run(part, {
      signal,
      report: () => {},
      command: {
        params: { ...params, ...(start_at !== undefined && { start_at }) },
        approval: approvalFor(part, { signer: coordinatorSigner, expiresAt: NOW + approvedMs }),
      },
    })
  const check = async () =>
    (await verb.check?.(part, signal))?.find(({ name }) => name === 'clock_width_ms')
  return { run, check, clock, startedAt }
}

t.test('a formation begins at its start, by the time of the coordinator', async t => {
  const { run, check, startedAt } = openFormation()
  t.match(await check(), { observed: 0, limit: 200, holds: true })
  await run(NOW + 5000)
  t.strictSame(startedAt, [NOW + 5000])
})

t.test('a formation without a possible start is refused, and nothing moves', async t => {
  for (const [title, start_at, bounds, reason] of [
    ['no start', undefined, [0, 0], { code: 'invalid_request' }],
    ['a start in the past', NOW - 1, [0, 0], { code: 'conflict', message: /has passed/ }],
    ['a start that may have passed', NOW + 99, [0, 100], { code: 'conflict', message: /passed/ }],
    ['a start after the approval', NOW + 60_001, [0, 0], { code: 'forbidden', message: /expires/ }],
    ['an unproven clock', NOW + 5000, undefined, { code: 'conflict', message: /not known/ }],
  ] as const)
    await t.test(title, async t => {
      const { run, clock, startedAt } = openFormation()
      clock.bounds = bounds && { earliest: NOW + bounds[0], latest: NOW + bounds[1] }
      await t.rejects(run(start_at), reason)
      t.strictSame(startedAt, [])
    })
})

t.test('a clock that is not proven, or too vague, fails the checks', async t => {
  const { check, clock } = openFormation()
  clock.bounds = undefined
  t.match(await check(), { observed: null, limit: 200, holds: false })
  clock.bounds = { earliest: NOW, latest: NOW + 201 }
  t.match(await check(), { observed: 201, limit: 200, holds: false })
})

t.test('a clock that jumps while units wait', async t => {
  await t.test('past the start ends the formation', async t => {
    const { run, startedAt } = openFormation(clock => {
      clock.bounds = { earliest: NOW + 5300, latest: NOW + 5300 }
    })
    await t.rejects(run(NOW + 5000), { code: 'conflict', message: /would begin 300 ms late/ })
    t.strictSame(startedAt, [])
  })
  await t.test('back delays the start', async t => {
    let hasJumped = false
    const { run, startedAt } = openFormation(clock => {
      if (!hasJumped) clock.bounds = { earliest: NOW - 9000, latest: NOW - 9000 }
      hasJumped = true
    })
    await run(NOW + 5000)
    t.strictSame(startedAt, [NOW + 5000])
  })
  await t.test('and is not proven any more ends the formation', async t => {
    const { run, startedAt } = openFormation(clock => {
      clock.bounds = undefined
    })
    await t.rejects(run(NOW + 5000), { code: 'conflict', message: /not known/ })
    t.strictSame(startedAt, [])
  })
})
