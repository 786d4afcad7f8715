import t, { type Test } from 'tap'
import { SimLinkConfig } from '../../devices/links/sim/config.ts'
import { SimLink } from '../../devices/links/sim/link.ts'
import { newId } from '../../shared/ids.ts'
import { FORMATION_GATE } from '../../shared/wire/plan-part.ts'
import { openDeviceFleet } from '../support/device-fleet.ts'
import { waitUntil } from '../support/wait-until.ts'

/* A real coordinator and two real daemons with simulated rovers: the way of a formation. */

type Json = Record<string, unknown>

const ROVERS = [
  [
    { name: 'rover-1', x_m: 0, y_m: 0 },
    { name: 'rover-2', x_m: 1.2, y_m: 0 },
  ],
  [
    { name: 'rover-3', x_m: 0, y_m: 1.2 },
    { name: 'rover-4', x_m: 1.2, y_m: 1.2 },
  ],
]

/**
 * A coordinator and two cells in this process, and their simulators; `more` is laid over the
 * configuration of a rover, by its name, and `others` are rovers that the second cell has as well.
 */
const openFleet = async (
  t: Test,
  more: Record<string, object> = {},
  others: readonly object[] = [],
) => {
  const sims = ROVERS.map((rovers, index) => {
    const clock = { cellId: `cell_sim_${index}`, now: Date.now, nowMs: () => performance.now() }
    const devices = [...rovers, ...(index === 1 ? others : [])].map(rover => ({
      ...rover,
      profile: 'sim-rover',
      site: 'hall',
      ...('name' in rover ? more[String(rover.name)] : {}),
    }))
    const config = SimLinkConfig.parse({ kind: 'sim', tick_ms: 20, devices })
    return new SimLink(config, clock)
  })
  const { call } = await openDeviceFleet(
    t,
    sims.map(sim => ({ links: [sim] })),
    { swarm: { start_delay_seconds: 3, skew_ms: 500 } },
  )
  await waitUntil(
    'the rovers are ready',
    async () => {
      const { body } = await call('operator', 'GET', '/v1/swarm/members')
      return (body.members as Json[] | undefined)?.length === 4 + others.length
    },
    250,
  )
  const units = sims.flatMap(({ world }) => world.units)
  const findUnit = (name: string) => {
    const unit = units.find(({ config }) => config.name === name)
    if (unit === undefined) throw new Error(`no ${name}`)
    return unit
  }
  /** Lets each simulator go on for so long. */
  const passTime = async (ms: number): Promise<void> => {
    const ends = sims.map(({ world }) => world.elapsed_ms + ms)
    await waitUntil('simulated time has passed', () =>
      sims.every(({ world }, index) => world.elapsed_ms >= Number(ends[index])),
    )
  }
  return { call, findUnit, sims, passTime }
}

type Fleet = Awaited<ReturnType<typeof openFleet>>

const PATH = '/v1/swarm/formations'
const GRID = { formation: 'grid', spacing_m: 1.6 }

/** Asks for a formation, and has two persons approve it. Returns the request. */
const approve = async (t: Test, { call }: Fleet, input: object): Promise<string> => {
  const pending = await call('operator', 'POST', PATH, input, newId('key'))
  t.match(pending, { status: 202, body: { status: 'pending', gate_id: FORMATION_GATE } })
  const id = String(pending.body.request_id)
  for (const who of ['approver_a', 'approver_b'] as const) {
    const approved = await call(who, 'POST', `/v1/gates/requests/${id}/approve`, {})
    t.equal(approved.status, 200)
  }
  return id
}

const waitForEnd = async ({ call }: Fleet, id: unknown): Promise<Json> => {
  let shown: Json = {}
  await waitUntil(
    'the formation has ended',
    async () => {
      shown = (await call('operator', 'GET', `${PATH}/${id}`)).body
      return shown.ended_at !== null
    },
    250,
  )
  return shown
}

const NAMES = ROVERS.flat().map(({ name }) => name)

const placeOf = ({ findUnit }: Fleet, name: string): unknown[] => {
  const { x_m, y_m } = findUnit(name).state.readings
  return [x_m?.value, y_m?.value]
}

const requireUnmoved = (t: Test, fleet: Fleet): void => {
  for (const { name, x_m, y_m } of ROVERS.flat())
    t.strictSame(placeOf(fleet, name), [x_m, y_m], `${name} has not moved`)
}

const waitForMotion = ({ findUnit }: Fleet): Promise<unknown> => {
  const isMoving = (name: string): boolean =>
    Number(findUnit(name).state.readings.speed_m_s?.value) > 0.2
  return waitUntil('rovers of both cells move', () => isMoving('rover-1') && isMoving('rover-3'))
}

const waitForAcceptance = ({ call }: Fleet, id: unknown): Promise<unknown> =>
  waitUntil(
    'both cells have accepted',
    async () => {
      const { body } = await call('operator', 'GET', `${PATH}/${id}`)
      return (body.parts as Json[]).every(part => part.state === 'executing')
    },
    250,
  )

t.setTimeout(180_000)

t.test('two cells form a grid after two approvals, also when a rover has drifted', async t => {
  const fleet = await openFleet(t)
  const { call, findUnit } = fleet
  const dry = await call('operator', 'POST', '/v1/skills/swarm-formation', GRID)
  t.match(dry, { status: 200, body: { plan: { units: { length: 4 } }, started: null } })
  t.equal((await call('operator', 'POST', PATH, GRID)).status, 422, 'it needs a call key')

  const request = await approve(t, fleet, GRID)
  findUnit('rover-1').faults = { ...findUnit('rover-1').faults, position_noise_m: 0.02 }
  const started = await call('operator', 'POST', PATH, GRID, newId('key'))
  t.match(started, { status: 200, body: { state: 'waiting', request_id: request } })
  t.equal((started.body.parts as Json[]).length, 2, 'one approval covers both cells')

  const busy = await call('operator', 'GET', '/v1/swarm/members')
  t.match(busy.body, { members: [], excluded: [{ reason: 'busy' }] })
  const shown = await waitForEnd(fleet, started.body.formation_id)
  t.match(shown, { state: 'reached', reason: null })
  t.ok((shown.outcome as Json[]).every(({ reached }) => reached))
  const state = await call('operator', 'POST', '/v1/skills/swarm-state', {})
  t.match(state.body, { running: [], recent: [{ state: 'reached' }] })
  const analytics = await call('operator', 'POST', '/v1/skills/swarm-analytics', {})
  t.match(analytics.body, { totals: { started: 1, reached: 1, reached_percent: 100 } })
})

t.test('an abort brings the units of both cells to rest', async t => {
  const fleet = await openFleet(t)
  const input = { ...GRID, anchor: { x_m: 6, y_m: 0.6 } }
  await approve(t, fleet, input)
  const started = await fleet.call('operator', 'POST', PATH, input, newId('key'))
  t.equal(started.status, 200)
  await waitForMotion(fleet)
  const path = `${PATH}/${started.body.formation_id}/abort`
  const aborted = await fleet.call('operator', 'POST', path, { reason: 'a visitor' })
  t.match(aborted, { status: 200, body: { state: 'aborting', reason: 'a visitor' } })
  await waitUntil('all rest', () => NAMES.every(name => fleet.findUnit(name).isAtRest()))
  const shown = await waitForEnd(fleet, started.body.formation_id)
  t.match(shown, { state: 'aborted', stopped_by: String })
  t.equal((await fleet.call('operator', 'POST', path, {})).status, 409)
})

t.test('a formation is aborted when a device that is no part of it comes into its way', async t => {
  const fleet = await openFleet(t, {}, [{ name: 'visitor', x_m: 4, y_m: 8 }])
  const input = { ...GRID, anchor: { x_m: 8, y_m: 0.6 }, members: NAMES }
  await approve(t, fleet, input)
  const started = await fleet.call('operator', 'POST', PATH, input, newId('key'))
  t.equal(started.status, 200)
  await waitForMotion(fleet)
  // nobody commands it: a person pushes it
  const go = { op: 'go', x_m: 4, y_m: 1.2, altitude_m: 0, speed_m_s: 1.5 } as const
  fleet.findUnit('visitor').begin(go)
  const shown = await waitForEnd(fleet, started.body.formation_id)
  t.match(shown, {
    state: 'failed',
    reason: /^visitor \(.*\) is .* m from .*rover-\d.* is required/,
  })
  t.ok(NAMES.every(name => fleet.findUnit(name).isAtRest()))
  t.ok((shown.outcome as Json[]).some(({ reached }) => !reached))
})

t.test('no unit moves when one of them is held before the start', async t => {
  const fleet = await openFleet(t)
  await approve(t, fleet, GRID)
  const rover = fleet.findUnit('rover-4')
  const started = await fleet.call('operator', 'POST', PATH, GRID, newId('key'))
  t.equal(started.status, 200)
  await waitForAcceptance(fleet, started.body.formation_id)
  const hold = await fleet.call('operator', 'POST', '/v1/devices/rover-4/hold', {})
  t.equal(hold.status, 200)
  const shown = await waitForEnd(fleet, started.body.formation_id)
  t.match(shown, { state: 'failed', reason: /was stopped/ })
  requireUnmoved(t, fleet)
  t.ok(rover.isAtRest())
})

t.test('no unit moves when the battery of one falls below its floor before the start', async t => {
  const fleet = await openFleet(t, {
    'rover-4': {
      envelope: { min_battery_to_start_percent: 30 },
      faults: { battery_drop: { after_s: 3000, percent: 85 } },
    },
  })
  await approve(t, fleet, GRID)
  const started = await fleet.call('operator', 'POST', PATH, GRID, newId('key'))
  t.equal(started.status, 200)
  await waitForAcceptance(fleet, started.body.formation_id)
  fleet.sims[1]?.advance(3_000_000)
  const shown = await waitForEnd(fleet, started.body.formation_id)
  t.match(shown, { state: 'failed', reason: /battery_percent.* 1\d.* 30/ })
  requireUnmoved(t, fleet)
})

t.test(
  'an e-stop ends a formation on all cells, and nothing goes on after its release',
  async t => {
    const fleet = await openFleet(t)
    const { call, findUnit } = fleet
    const input = { ...GRID, anchor: { x_m: 6, y_m: 0.6 } }
    await approve(t, fleet, input)
    const started = await call('operator', 'POST', PATH, input, newId('key'))
    await waitForMotion(fleet)
    const stop = { device: 'rover-1', reason: 'a person in its way' }
    const { body: estop } = await call('operator', 'POST', '/v1/estop', stop)
    await waitUntil('all rest', () => NAMES.every(name => findUnit(name).isAtRest()))
    const shown = await waitForEnd(fleet, started.body.formation_id)
    t.match(shown, { state: 'failed', reason: /was stopped by an e-stop: a person in its way/ })
    t.ok((shown.outcome as Json[]).every(({ reached }) => !reached))
    // asked for anew, or refused while a unit is held: the approval is used up either way
    const again = await call('operator', 'POST', PATH, input, newId('key'))
    t.ok(again.status === 202 || again.status === 409, `${again.status}`)

    const places = NAMES.map(name => placeOf(fleet, name))
    const release = { estop_id: estop.estop_id, reason: 'the way is clear' }
    t.equal((await call('operator', 'POST', '/v1/estop/release', release)).status, 200)
    await waitUntil('the rover can take part again', async () => {
      const { body } = await call('operator', 'GET', '/v1/swarm/members')
      return (body.members as Json[]).length === NAMES.length
    })
    await fleet.passTime(2000)
    t.strictSame(
      NAMES.map(name => placeOf(fleet, name)),
      places,
    )
    t.ok(NAMES.every(name => findUnit(name).isAtRest()))
  },
)
