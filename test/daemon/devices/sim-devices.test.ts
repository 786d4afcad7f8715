import t, { type Test } from 'tap'
import { DeviceHost } from '../../../daemon/devices/device-host.ts'
import { SimLinkConfig } from '../../../devices/links/sim/config.ts'
import { SimLink } from '../../../devices/links/sim/link.ts'
import type { Ack, Command } from '../../../shared/wire/command.ts'
import { CRITICAL_GATE, DryRun, LIVE_GATE } from '../../../shared/wire/plan-part.ts'
import { approvalFor } from '../../support/approval-for.ts'
import { silent } from '../../support/cell.ts'
import { CELL, command, coordinatorSigner, NOW, rig } from '../commands/rig.ts'

type DeviceHostParts = ConstructorParameters<typeof DeviceHost>[0]

/** A cell with simulated devices, whose time passes while one of them moves. */
const openCell = async (
  t: Test,
  devices: object[],
  config: DeviceHostParts['config'] = { site: 'floor' },
) => {
  const sim = new SimLink(SimLinkConfig.parse({ kind: 'sim', devices }), {
    cellId: CELL,
    now: () => NOW,
    nowMs: () => 0,
  })
  const host = new DeviceHost({
    config,
    links: [sim],
    now: () => NOW,
    nowMs: () => 0,
    logger: silent,
  })
  const { obey } = await rig(t, { devices: host })
  const settle = async (one: Command): Promise<Ack | undefined> => {
    let isOver = false
    const ended = obey(one).finally(() => {
      isOver = true
    })
    while (!isOver) {
      sim.advance(sim.world.units.every(unit => unit.isAtRest()) ? 0 : 200)
      await new Promise(setImmediate)
    }
    return ended
  }
  const idOf = (name: string): string =>
    sim.list().find(device => device.name === name)?.deviceId ?? ''
  const plan = async (name: string, verb: string, params: Command['params']) => {
    const dry = command({ device_id: idOf(name), verb, params, mode: 'dry' })
    return DryRun.parse((await settle(dry))?.result)
  }
  /** Plans, has an unsafe plan approved at its gate, and executes it. */
  const run = async (name: string, verb: string, params: Command['params']) => {
    const { part } = await plan(name, verb, params)
    const given = { signer: coordinatorSigner, expiresAt: NOW + 60_000 }
    const approval = approvalFor(part, { ...given, gate_id: part.gate ?? LIVE_GATE })
    const approved = part.hazard === 'unsafe' ? { approval } : {}
    const { hazard } = part
    return settle(command({ device_id: idOf(name), verb, params, hazard, ...approved }))
  }
  const read = (name: string, property: string) =>
    sim.readState(idOf(name))?.readings[property]?.value
  return { plan, run, read }
}

const rover = (name: string, x_m: number, more: object = {}) => ({
  name,
  profile: 'sim-rover',
  x_m,
  ...more,
})

t.test('two rovers keep their distance', async t => {
  const { run } = await openCell(
    t,
    [rover('a', 0), rover('b', 5), rover('c', 10, { site: 'yard' })],
    { site: 'floor', envelope: { min_separation_m: 1 } },
  )
  const near = { x_m: 4.5, y_m: 0, speed_m_s: 1 }
  t.match(await run('a', 'move-to', near), {
    state: 'rejected',
    reason: 'precondition_failed',
    message: /separation.* 0\.5\b.* 1\b/,
  })
  t.match(await run('a', 'move-to', { ...near, x_m: 3 }), { state: 'succeeded' })
  t.match(await run('b', 'move-to', { ...near, x_m: 9.5 }), { state: 'succeeded' }, 'another site')
})

t.test('the way to the dock is checked as every other way', async t => {
  const area: [number, number][] = [
    [-9, -9],
    [9, -9],
    [9, 9],
    [-9, 9],
  ]
  const envelope = { min_separation_m: 1, geofences: [{ frame: 'local' as const, area }] }
  const { plan, run } = await openCell(t, [rover('a', 0), rover('b', 8)], { envelope })
  const move = (name: string, x_m: number, y_m: number) =>
    run(name, 'move-to', { x_m, y_m, speed_m_s: 1 })
  t.match(await move('a', 0, 5), { state: 'succeeded' })
  const { part, checks } = await plan('a', 'dock', {})
  t.match(part.bounds, { motion: { path: [{ frame: 'local', x: 0, y: 0, altitude_m: 0 }] } })
  const margin = checks.find(({ name }) => name === 'geofence_margin_m')
  t.match(margin, { observed: 4, holds: true, warning: undefined })
  t.match(await move('b', 0, 2.5), { state: 'succeeded' })
  t.match(await run('a', 'dock', {}), { reason: 'precondition_failed', message: /separation/ })
  t.match(await move('b', 8, 0), { state: 'succeeded' })
  t.match(await run('a', 'dock', {}), { state: 'succeeded' })
})

t.test('a geofence is left only with the approval of two persons', async t => {
  const area: [number, number][] = [
    [-1, -1],
    [3, -1],
    [3, 1],
    [-1, 1],
  ]
  const envelope = { geofences: [{ frame: 'local' as const, area }] }
  const { plan, run, read } = await openCell(t, [rover('a', 0)], { envelope })
  const beyond = { x_m: 5, y_m: 0, speed_m_s: 1 }
  t.match(await plan('a', 'move-to', beyond), { part: { gate: LIVE_GATE } })
  t.match(await run('a', 'move-to', beyond), { reason: 'precondition_failed' })
  const override = { ...beyond, override_geofence: true }
  t.match(await plan('a', 'move-to', override), { part: { gate: CRITICAL_GATE } })
  t.match(await run('a', 'move-to', override), { state: 'succeeded' })
  t.equal(read('a', 'x_m'), 5)
})

t.test('a motion ends at rest when the battery falls below its floor on the way', async t => {
  const faults = { battery_drop: { after_s: 4, percent: 92 } }
  const { run, read } = await openCell(t, [rover('a', 0, { faults })])
  const ended = await run('a', 'move-to', { x_m: 100, y_m: 0, speed_m_s: 1 })
  t.match(ended, { reason: 'envelope_violated', message: /battery_percent is [78]\b.* 10\b/ })
  t.ok(Number(read('a', 'x_m')) < 10)
  t.equal(read('a', 'speed_m_s'), 0)
})
