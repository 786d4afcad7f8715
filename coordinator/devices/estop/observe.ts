import type { Observation } from '../../fleet/alerts/alert-rules.ts'
import type { Fleet } from '../../fleet/cells/fleet.ts'
import { describeNamed, nameDevice, nameTarget } from './names.ts'
import type { EstopReports } from './reports.ts'
import type { EstopSender } from './sender.ts'
import type { Stops } from './stops.ts'

interface ObservedEstops {
  stops: Pick<Stops, 'listInForce'>
  reports: Pick<EstopReports, 'find'>
  sender: Pick<EstopSender, 'listConnected' | 'isConfirmed'>
  fleet: Pick<Fleet, 'cells'>
}

/** Findings of a look at the e-stops: that there are some, and the cells that do not follow them. */
export const observeEstops = function* ({
  stops,
  reports,
  sender,
  fleet,
}: ObservedEstops): Generator<Observation> {
  const inForce = stops.listInForce()
  const newest = inForce.at(-1)
  if (newest === undefined) return
  const { scope, target, engagedBy, reason } = newest
  const held =
    target === undefined ? '' : ` ${describeNamed(target, nameTarget(newest, fleet.cells()))}`
  const about = `the newest (${newest.id}) by ${engagedBy} for ${scope}${held}: ${reason}`
  const count = inForce.length
  const message = `${count} ${count === 1 ? 'e-stop is' : 'e-stops are'} in force, ${about}`
  yield { rule: 'estop_engaged', cellId: undefined, part: undefined, state: 'bad', message }
  for (const cell of sender.listConnected()) {
    const failed = reports.find(cell.id)?.failed ?? []
    const fault = sender.isConfirmed(cell)
      ? failed
          .map(one => {
            const device = describeNamed(one.device_id, nameDevice(one.device_id, cell))
            return `${device}: ${one.reason}`
          })
          .join('; ')
      : 'the cell is connected and has not confirmed an e-stop'
    if (fault !== '')
      yield {
        rule: 'estop_unconfirmed',
        cellId: cell.id,
        part: undefined,
        state: 'bad',
        message: fault.slice(0, 500),
      }
  }
}
