import t, { type Test } from 'tap'
import type { DemoName } from '../../coordinator/access/keys/bootstrap.ts'
import { SimLinkConfig } from '../../devices/links/sim/config.ts'
import { SimLink } from '../../devices/links/sim/link.ts'
import { newId } from '../../shared/ids.ts'
import { CRITICAL_GATE, LIVE_GATE } from '../../shared/wire/plan-part.ts'
import { openDeviceFleet } from '../support/device-fleet.ts'
import { waitUntil } from '../support/wait-until.ts'

/* A real coordinator and a real daemon with simulated devices: the way of a command. */

type Json = Record<string, unknown>

const SIM = {
  kind: 'sim',
  tick_ms: 20,
  time_factor: 20,
  devices: [
    { name: 'rover-1', profile: 'sim-rover', battery_metres: 1e6 },
    {
      name: 'rover-2',
      profile: 'sim-rover',
      x_m: 20,
      battery_metres: 10,
      envelope: { min_battery_to_start_percent: 50 },
    },
    { name: 'drone-1', profile: 'sim-drone', x_m: 40 },
    { name: 'printer-1', profile: 'sim-printer' },
  ],
}

/** A coordinator and a cell in this process, and the simulator to look into. */
const openFleet = async (t: Test) => {
  const clock = { cellId: 'cell_sim', now: Date.now, nowMs: () => performance.now() }
  const sim = new SimLink(SimLinkConfig.parse(SIM), clock)
  const { call } = await openDeviceFleet(t, [{ links: [sim] }])
  const idOf = (name: string): string =>
    sim.list().find(device => device.name === name)?.deviceId ?? ''
  const countExecuted = (name: string): number =>
    sim.world.units.find(({ config }) => config.name === name)?.executed ?? -1
  const cellId = await waitUntil('the devices are known', async () => {
    const { devices } = (await call('operator', 'GET', '/a2a/devices')).body as { devices: Json[] }
    return devices.find(({ name }) => name === 'printer-1')?.cell_id
  })
  return { call, countExecuted, cellId: String(cellId), idOf }
}

type Fleet = Awaited<ReturnType<typeof openFleet>>

const approve = ({ call }: Fleet, who: DemoName, id: unknown) =>
  call(who, 'POST', `/v1/gates/requests/${id}/approve`, {})

/** A command of the operator; each live call of it has the same key. */
const createUse = (fleet: Fleet, device_id: string, command: string, params: object) => {
  const { call } = fleet
  const key = newId('key')
  const path = '/v1/skills/device-command'
  const input = { device_id, command, params }
  return {
    plan: () => call('operator', 'POST', path, input),
    run: (runKey = key) => call('operator', 'POST', path, { ...input, dry_run: false }, runKey),
    approve: (who: DemoName, id: unknown) => approve(fleet, who, id),
  }
}

const APPROVERS = ['approver_a', 'approver_b'] as const

t.test('a command of a device is planned, approved, executed and audited', async t => {
  const fleet = await openFleet(t)
  const { call, countExecuted } = fleet

  for (const [device, command, params, gate, approvers] of [
    ['drone-1', 'arm', {}, CRITICAL_GATE, APPROVERS],
    ['printer-1', 'raw-gcode', { lines: ['G28'] }, CRITICAL_GATE, APPROVERS],
    ['rover-1', 'move-to', { x_m: 1, y_m: 0, speed_m_s: 1 }, LIVE_GATE, ['approver_a']],
  ] as const)
    await t.test(`${command} of ${device} passes ${gate}`, async t => {
      const use = createUse(fleet, device, command, params)
      const dry = await use.plan()
      t.match(dry, { status: 200, body: { plan: { hazard: 'unsafe', gate, passes: true } } })
      const { plan_hash } = dry.body.plan as Json
      const pending = { status: 202, body: { status: 'pending', gate_id: gate, plan_hash } }
      const asked = await use.run()
      t.match(asked, pending)
      const { request_id } = asked.body

      t.match(await use.approve('operator', request_id), {
        status: 403,
        body: { error: { message: /your own request/ } },
      })
      for (const approver of approvers) {
        t.match(await use.run(), { ...pending, body: { request_id } })
        t.equal(countExecuted(device), 0, 'nothing was executed before the last approval')
        t.equal((await use.approve(approver, request_id)).status, 200)
      }
      const done = await use.run()
      t.match(done, { status: 200, body: { outcome: { state: 'succeeded', verb: command } } })
      t.equal(countExecuted(device), 1)

      t.strictSame(await use.run(), done, 'the same call is answered again')
      t.match(await use.run(newId('key')), pending, 'another call needs another approval')
      t.equal(countExecuted(device), 1)

      const { id } = done.body.outcome as Json
      const audit = await call('operator', 'GET', `/v1/audit?subject=${id}`)
      t.match(audit.body, { rows: [{ subject: id, outcome: 'done' }] })
      t.match(await call('operator', 'GET', '/v1/audit/verify'), { body: { ok: true } })
    })
})

t.test('what changes after an approval', async t => {
  const fleet = await openFleet(t)
  const { call, countExecuted, cellId, idOf } = fleet

  /** A fast move that somebody has approved. */
  const approveMove = async (device: string) => {
    const use = createUse(fleet, device, 'move-to', { x_m: 21, y_m: 1, speed_m_s: 1 })
    const { request_id } = (await use.run()).body
    t.equal((await use.approve('approver_a', request_id)).status, 200)
    return use
  }
  /** The same, by the command that the cell alone checks before it executes it. */
  const approveDirectMove = async (device: string) => {
    const path = `/v1/cells/${cellId}/commands`
    const params = { x_m: 21, y_m: 1, speed_m_s: 1 }
    const command = { device_id: idOf(device), verb: 'move-to', params, mode: 'live' }
    const key = newId('key')
    const run = () => call('operator', 'POST', path, command, key)
    const { request_id } = (await run()).body
    t.equal((await approve(fleet, 'approver_a', request_id)).status, 200)
    return run
  }
  const waitForRefusal = (id: unknown) =>
    waitUntil('the cell has refused it', async () => {
      const { body } = await call('operator', 'GET', `/v1/commands/${id}`)
      return body.state === 'rejected' && body
    })
  /** A slow move, which needs no approval. */
  const drift = async (device: string, x_m: number) => {
    const moved = await createUse(fleet, device, 'move-to', { x_m, y_m: 0, speed_m_s: 0.3 }).run()
    t.match(moved, { status: 200, body: { outcome: { state: 'succeeded' } } })
  }

  await t.test('another plan is not executed', async t => {
    await approveMove('rover-1')
    const other = createUse(fleet, 'rover-1', 'move-to', { x_m: 22, y_m: 1, speed_m_s: 1 })
    t.match(await other.run(), { status: 202, body: { status: 'pending' } })
    t.equal(countExecuted('rover-1'), 0)
  })

  await t.test('a pose that has drifted does not void it', async t => {
    const use = await approveMove('rover-1')
    await drift('rover-1', 0.5)
    t.match(await use.run(), { status: 200, body: { outcome: { state: 'succeeded' } } })
    t.equal(countExecuted('rover-1'), 2)
  })

  await t.test('a changed limit voids it, and the cell refuses what is beyond it', async t => {
    const use = await approveMove('rover-1')
    const direct = await approveDirectMove('rover-1')
    const executed = countExecuted('rover-1')
    const setSpeed = async (max_speed_m_s: number): Promise<void> => {
      const before = (await use.plan()).body.plan as Json
      const limits = { document: { envelopes: { fleet: { max_speed_m_s } } } }
      t.equal((await call('operator', 'PUT', `/v1/cells/${cellId}/config`, limits)).status, 200)
      await waitUntil('the cell has the limit', async () => {
        const { plan_hash } = (await use.plan()).body.plan as Json
        return plan_hash !== before.plan_hash
      })
    }
    await setSpeed(1.2)
    t.match(await use.run(), { status: 202, body: { status: 'pending' } })
    await setSpeed(0.5)
    const message = /speed_m_s.* 1\b.* 0\.5.*fleet/
    t.match(await use.run(), { status: 409, body: { error: { message } } })
    t.equal((await direct()).status, 202, 'the approval of the earlier limit is void')
    const approvedNow = await approveDirectMove('rover-1')
    const refused = await waitForRefusal((await approvedNow()).body.id)
    t.match(refused, { reason: 'precondition_failed', message: /speed_m_s.* 1\b.* 0\.5/ })
    t.equal(countExecuted('rover-1'), executed)
    await setSpeed(1.2)
  })

  await t.test('a battery below its floor refuses it, with the value', async t => {
    const use = await approveMove('rover-2')
    const direct = await approveDirectMove('rover-2')
    await drift('rover-2', 14.5)
    const message = /battery_percent.* 4[45]\.\d+.* 50/
    t.match(await use.run(), { status: 409, body: { error: { message } } })
    const refused = await waitForRefusal((await direct()).body.id)
    t.match(refused, { reason: 'precondition_failed', message }, 'the cell itself refuses it too')
    t.equal(countExecuted('rover-2'), 1, 'only the drift was executed')
  })
})
