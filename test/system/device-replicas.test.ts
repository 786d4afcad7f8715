import { join } from 'node:path'
import t, { type Test } from 'tap'
import { findFreePorts } from '../../bin/up/ports.ts'
import { createToken } from '../../coordinator/fleet/enrolment/join-tokens.ts'
import { SimLinkConfig } from '../../devices/links/sim/config.ts'
import { SimLink } from '../../devices/links/sim/link.ts'
import { newId } from '../../shared/ids.ts'
import { CRITICAL_GATE, FORMATION_GATE, LIVE_GATE } from '../../shared/wire/plan-part.ts'
import { temporaryFolder } from '../coordinator/kernel/store/temporary.ts'
import { ReplicaSet } from '../prove/support/replica-set.ts'
import { startCoordinators } from '../support/coordinators.ts'
import { type ApiCaller, createApiCaller, startDeviceCell } from '../support/device-fleet.ts'
import { postgresMissing } from '../support/postgres.ts'
import { TcpProxy } from '../support/tcp-proxy.ts'
import { waitUntil } from '../support/wait-until.ts'

/* Two coordinators as processes on one PostgreSQL, and cells with simulated devices. */

type Json = Record<string, unknown>

const CELLS = [
  [
    { name: 'rover-1', x_m: 0, y_m: 0 },
    { name: 'rover-2', x_m: 1.2, y_m: 0 },
  ],
  [
    { name: 'rover-3', x_m: 0, y_m: 1.2 },
    { name: 'rover-4', x_m: 1.2, y_m: 1.2 },
    { name: 'drone-1', profile: 'sim-drone', site: 'yard' },
  ],
]
const NAMES = CELLS.flat().map(({ name }) => name)

/** The simulated devices of a cell. */
const createRovers = (index: number): SimLink => {
  const clock = { cellId: `cell_sim_${index}`, now: Date.now, nowMs: () => performance.now() }
  const own = { profile: 'sim-rover', site: 'hall' }
  const devices = CELLS[index]?.map(device => ({ ...own, ...device }))
  return new SimLink(SimLinkConfig.parse({ kind: 'sim', tick_ms: 20, devices }), clock)
}

const isRover = ({ config }: { config: { name: string } }): boolean => config.name !== 'drone-1'

/** Two coordinators, and two cells that are connected to both. */
const openFleet = async (t: Test) => {
  const flags = ['--swarm-start-delay-seconds', '6', '--swarm-skew-ms', '1000']
  const set = await ReplicaSet.start({ count: 2, cells: 0, flags, isOnSharedCluster: true })
  t.teardown(() => set.stop())
  const uses = { uses: CELLS.length, ttlMinutes: 5 }
  const { secret: joinToken } = await createToken(set.store.ledger, uses, { actor: 'test' })
  const sims = CELLS.map((_, index) => {
    const sim = createRovers(index)
    const stop = startDeviceCell(
      { links: [sim] },
      { stateDir: join(set.folder, `cell-${index}`), url: set.replica(index).url, joinToken },
    )
    t.teardown(stop)
    return sim
  })
  const [a, b] = [0, 1].map(index => createApiCaller(set.replica(index).url, set.keys)) as [
    ApiCaller,
    ApiCaller,
  ]
  const units = sims.flatMap(({ world }) => world.units)
  const findUnit = (name: string) => {
    const unit = units.find(({ config }) => config.name === name)
    if (unit === undefined) throw new Error(`no ${name}`)
    return unit
  }
  /** Resolves when a coordinator hears of every device itself. */
  const waitForDevices = async (at: ApiCaller): Promise<void> => {
    for (const name of NAMES) await waitForPlan(at, name)
  }
  await Promise.all([a, b].map(waitForDevices))
  return { set, a, b, findUnit, waitForDevices }
}

/** Resolves when a coordinator can plan a command of the device. */
const waitForPlan = ({ call }: ApiCaller, name: string): Promise<unknown> =>
  waitUntil(
    `${name} can be commanded`,
    async () => {
      const input = { command: name === 'drone-1' ? 'arm' : 'dock', params: {} }
      const { body } = await call('operator', 'POST', `/v1/devices/${name}/plan`, input)
      return body.passes === true
    },
    250,
  )

/** A live command of the operator; it has one key at every coordinator. */
const createUse = (device_id: string, command: string, params: object = {}) => {
  const key = newId('key')
  const input = { device_id, command, params, dry_run: false }
  return ({ call }: ApiCaller) => call('operator', 'POST', '/v1/skills/device-command', input, key)
}

const approve = ({ call }: ApiCaller, who: Parameters<ApiCaller['call']>[0], id: unknown) =>
  call(who, 'POST', `/v1/gates/requests/${id}/approve`, {})

/** Asks for the approval of a command, again while the coordinator does not know the device's state. */
const askApproval = (use: ReturnType<typeof createUse>, at: ApiCaller): Promise<unknown> =>
  waitUntil('the command waits for approval', async () => (await use(at)).body.request_id, 250)

const FORMATIONS = '/v1/swarm/formations'
const SUCCEEDED = { status: 200, body: { outcome: { state: 'succeeded' } } }

t.setTimeout(240_000)

t.test(
  'a command or formation passes two coordinators and is executed once',
  { skip: postgresMissing },
  async t => {
    const { set, a, b, findUnit, waitForDevices } = await openFleet(t)

    await t.test('a formation goes on when its coordinator is killed', async t => {
      const rovers = NAMES.filter(name => isRover({ config: { name } })).map(findUnit)
      const input = { formation: 'grid', spacing_m: 1.6, site: 'hall' }
      const asked = await a.call('operator', 'POST', FORMATIONS, input, newId('key'))
      t.match(asked, { status: 202, body: { gate_id: FORMATION_GATE } })
      const { request_id } = asked.body
      t.equal((await approve(a, 'approver_a', request_id)).status, 200)
      t.equal((await approve(b, 'approver_b', request_id)).status, 200)
      const started = await a.call('operator', 'POST', FORMATIONS, input, newId('key'))
      t.match(started, { status: 200, body: { request_id, parts: { length: 2 } } })
      const path = `${FORMATIONS}/${started.body.formation_id}`
      await waitUntil(
        'both cells have accepted',
        async () => {
          const { parts } = (await b.call('operator', 'GET', path)).body
          return (parts as Json[]).every(({ state }) => state === 'executing')
        },
        100,
      )
      await set.replica(0).process.end('SIGKILL')
      const shown = await waitUntil(
        'the formation has ended',
        async () => {
          const { body } = await b.call('operator', 'GET', path)
          return body.ended_at !== null && body
        },
        250,
      )
      t.match(shown, { state: 'reached', reason: null })
      for (const { config, executed } of rovers)
        t.equal(executed, 1, `${config.name} has moved once`)
      const second = await b.call('operator', 'POST', FORMATIONS, input, newId('key'))
      t.not(second.status, 200, 'the approval is used up')
      await set.restart(0)
      await waitForDevices(a)
    })

    await t.test('planned at one, approved at both, run at both at once', async t => {
      const use = createUse('drone-1', 'arm')
      const asked = await use(a)
      t.match(asked, { status: 202, body: { status: 'pending', gate_id: CRITICAL_GATE } })
      const { request_id } = asked.body
      t.equal((await approve(b, 'operator', request_id)).status, 403, 'not their own request')
      t.equal((await approve(b, 'approver_a', request_id)).status, 200)
      t.match(await use(b), { status: 202, body: { request_id } }, 'one of two has approved')
      t.equal(findUnit('drone-1').executed, 0)
      t.equal((await approve(a, 'approver_b', request_id)).status, 200)
      await Promise.all([use(a), use(b)])
      const done = await waitUntil(
        'both answer alike',
        async () => {
          const [one, other] = await Promise.all([use(a), use(b)])
          return one.status === 200 && other.status === 200 && { one, other }
        },
        250,
      )
      t.match(done.one, SUCCEEDED)
      t.strictSame(done.one.body, done.other.body)
      t.equal(findUnit('drone-1').executed, 1)
      const { id } = done.one.body.outcome as Json
      const audit = await b.call('operator', 'GET', `/v1/audit?subject=${id}`)
      t.match(audit.body, { rows: [{ subject: id, outcome: 'done' }] })
    })

    await t.test('the coordinator of the request is killed before the execution', async t => {
      const use = createUse('rover-1', 'move-to', { x_m: 0, y_m: 1, speed_m_s: 1 })
      const asked = await use(a)
      t.match(asked, { status: 202, body: { gate_id: LIVE_GATE } })
      t.equal((await approve(b, 'approver_a', asked.body.request_id)).status, 200)
      await set.replica(0).process.end('SIGKILL')
      const done = await use(b)
      t.match(done, SUCCEEDED)
      await set.restart(0)
      await waitForDevices(a)
      t.strictSame((await use(a)).body, done.body, 'the same call is answered again')
      t.equal(findUnit('rover-1').executed, 2, 'once after the formation')
    })

    await t.test('the coordinator that has sent it is killed while it runs', async t => {
      const use = createUse('rover-2', 'move-to', { x_m: 1.2, y_m: 4, speed_m_s: 0.8 })
      const requestId = await askApproval(use, b)
      t.equal((await approve(a, 'approver_a', requestId)).status, 200)
      const lost = use(a).catch(() => undefined)
      await waitUntil('the rover moves', () => findUnit('rover-2').executed === 2)
      await set.replica(0).process.end('SIGKILL')
      await lost
      const path = `/v1/devices/rover-2/commands`
      const ended = await waitUntil(
        'the other coordinator knows the end',
        async () => {
          const [newest] = (await b.call('operator', 'GET', path)).body.commands as Json[]
          return newest?.state === 'succeeded' && newest
        },
        250,
      )
      t.match(ended, { verb: 'move-to' })
      const again = await use(b)
      t.not(again.status, 202, 'it asks for no second approval')
      t.equal(findUnit('rover-2').executed, 2, 'once after the formation')
    })

    t.match(await b.call('operator', 'GET', '/v1/audit/verify'), { body: { ok: true } })
  },
)

t.test('two coordinators of which cells find only one', { skip: postgresMissing }, async t => {
  const { startWith, keys, joinToken } = await startCoordinators(t, 0)
  const swarm = { start_delay_seconds: 5, skew_ms: 1000 }
  const [port = 0] = await findFreePorts(1)
  // cells reach the first one by the address that they are configured with, the second by its own
  const { url } = await startWith({ swarm })
  const address = `http://127.0.0.1:${port}`
  await startWith({ swarm, http: { port, drain_seconds: 0 }, replica: { address } })
  const [a, b] = [createApiCaller(url, keys), createApiCaller(address, keys)]
  const places = { url, address, joinToken }
  await t.test('a cell that only one of them can reach', t => testLoneCell(t, { a, b }, places))
  await t.test('a formation of cells at different ones', t => testParted(t, { a, b }, places))
})

interface Two {
  a: ApiCaller
  b: ApiCaller
}

interface Places {
  /** Address of the first coordinator, which it announces to no cell. */
  url: string
  /** Address of the second one. */
  address: string
  joinToken: string
}

const testLoneCell = async (t: Test, { a, b }: Two, { address, joinToken }: Places) => {
  const clock = { cellId: 'cell_sim', now: Date.now, nowMs: () => performance.now() }
  const devices = [{ name: 'rover-9', profile: 'sim-rover' }]
  const sim = new SimLink(SimLinkConfig.parse({ kind: 'sim', tick_ms: 20, devices }), clock)
  const stateDir = await temporaryFolder(t)
  t.teardown(startDeviceCell({ links: [sim] }, { stateDir, url: address, joinToken }))
  const [rover] = sim.world.units
  await waitForPlan(b, 'rover-9')
  await waitUntil('the other one lists the device', async () => {
    const { body } = await a.call('operator', 'GET', '/a2a/devices')
    return (body.devices as Json[])[0]?.available === true
  })

  await t.test('is commanded there alone, with the approval of the other', async t => {
    const use = createUse('rover-9', 'move-to', { x_m: 1, y_m: 0, speed_m_s: 1 })
    const message = /is not connected to this coordinator/
    const unreachable = { status: 503, body: { error: { code: 'cell_unavailable', message } } }
    t.match(await use(a), unreachable)
    const requestId = await askApproval(use, b)
    t.equal((await approve(a, 'approver_a', requestId)).status, 200)
    t.match(await use(a), unreachable)
    t.equal(rover?.executed, 0)
    t.match(await use(b), SUCCEEDED)
    t.equal(rover?.executed, 1)
    const members = (await a.call('operator', 'GET', '/v1/swarm/members')).body
    t.match(members, { members: [], excluded: [{ reason: 'unavailable', message }] })
  })

  await t.test('is stopped, held and released through the other', async t => {
    const move = createUse('rover-9', 'move-to', { x_m: 200, y_m: 0, speed_m_s: 0.3 })
    const moving = move(b)
    await waitUntil('the rover moves', () => rover?.isAtRest() === false)
    const stop = { device: 'rover-9', reason: 'smoke' }
    const engaged = await a.call('operator', 'POST', '/v1/estop', stop)
    t.match(engaged, { status: 200, body: { is_stored: true } })
    await waitUntil('the rover rests', () => rover?.isAtRest())
    t.match(await moving, { body: { outcome: { state: 'unknown', reason: 'estopped' } } })
    const slow = { x_m: 2, y_m: 0, speed_m_s: 0.3 }
    const refused = await createUse('rover-9', 'move-to', slow)(b)
    t.match(refused, { status: 409, body: { error: { message: /smoke/ } } })
    const { estop_id } = engaged.body
    const release = { estop_id, reason: 'no smoke' }
    t.equal((await a.call('operator', 'POST', '/v1/estop/release', release)).status, 200)
    await waitUntil('the cell has released it', async () => {
      const { status } = await createUse('rover-9', 'move-to', slow)(b)
      return status === 200
    })
    t.ok(rover?.isAtRest())
  })
}

const testParted = async (t: Test, { a, b }: Two, { url, joinToken }: Places) => {
  const network = await TcpProxy.open(t, { port: Number(new URL(url).port), host: '127.0.0.1' })
  const sims = await Promise.all(
    [url, `http://127.0.0.1:${network.port}`].map(async (first, index) => {
      const sim = createRovers(index)
      const own = { stateDir: await temporaryFolder(t), url: first, joinToken }
      t.teardown(startDeviceCell({ links: [sim] }, own))
      return sim
    }),
  )
  for (const at of [a, b]) for (const name of NAMES) await waitForPlan(at, name)

  const input = { formation: 'grid', spacing_m: 1.6, site: 'hall', anchor: { x_m: 8, y_m: 0 } }
  const { request_id } = (await a.call('operator', 'POST', FORMATIONS, input, newId('key'))).body
  t.equal((await approve(a, 'approver_a', request_id)).status, 200)
  t.equal((await approve(b, 'approver_b', request_id)).status, 200)
  const started = await a.call('operator', 'POST', FORMATIONS, input, newId('key'))
  t.match(started, { status: 200, body: { parts: { length: 2 } } })
  network.cut()
  const units = sims.flatMap(({ world }) => world.units).filter(isRover)
  await waitUntil('the rovers of both cells move', () =>
    units.every(unit => Number(unit.state.readings.speed_m_s?.value) > 0.1),
  )
  await waitUntil('the first coordinator has lost the second cell', async () => {
    const plan = { command: 'dock', params: {} }
    return (await a.call('operator', 'POST', '/v1/devices/rover-3/plan', plan)).status === 503
  })
  const path = `${FORMATIONS}/${started.body.formation_id}`
  t.equal((await a.call('operator', 'POST', `${path}/abort`, { reason: 'x' })).status, 200)
  await waitUntil('all rest', () => units.every(unit => unit.isAtRest()))
  const shown = await waitUntil(
    'the formation has ended',
    async () => {
      const { body } = await a.call('operator', 'GET', path)
      return body.ended_at !== null && body
    },
    250,
  )
  t.match(shown, { state: 'aborted', reason: 'x' })
  t.match((await b.call('operator', 'GET', path)).body, { state: 'aborted' })
}
