import t from 'tap'
import { DeviceHost } from '../../../daemon/devices/device-host.ts'
import { CoordinatorTime } from '../../../daemon/devices/formation/coordinator-time.ts'
import { FormationRun } from '../../../daemon/devices/formation/formation-run.ts'
import { type FindUnitVerb, planUnits } from '../../../daemon/devices/formation/unit-plans.ts'
import { SimLinkConfig } from '../../../devices/links/sim/config.ts'
import { SimLink } from '../../../devices/links/sim/link.ts'
import type { FormationParams } from '../../../shared/wire/formation.ts'
import { CRITICAL_GATE } from '../../../shared/wire/plan-part.ts'
import { silent } from '../../support/cell.ts'
import { CELL, NOW } from '../commands/rig.ts'

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
  const taken = runWith(() => void host.runs.track(id, 'move-to', () => other.promise))
  await t.rejects(taken, { code: 'conflict', message: /^idle .*\["move-to"\]/ })
  t.strictSame(moved, [id], 'it has not moved again')
  other.resolve()
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
