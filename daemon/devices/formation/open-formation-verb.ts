import type { Verb } from '../../commands/verb.ts'
import type { CellEstop } from '../../estop/cell-estop.ts'
import type { DeviceHost } from '../device-host.ts'
import { CoordinatorTime, type CoordinatorTimeParts } from './coordinator-time.ts'
import { createFormationVerb } from './formation-verb.ts'

interface OpenFormationVerbParts extends CoordinatorTimeParts {
  cellId: string
  host: Pick<DeviceHost, 'find' | 'findVerb' | 'runs'>
  estop: Pick<CellEstop, 'findStop' | 'onEngage'>
  /** Unix milliseconds. */
  now?: () => number
}

/** Creates the verb of formations for the devices of a host; whatever stops a unit ends it. */
export const openFormationVerb = (parts: OpenFormationVerbParts): Verb => {
  const { cellId, host, estop, now = Date.now } = parts
  return createFormationVerb({
    cellId,
    host,
    findVerb: (...given) => host.findVerb(...given),
    findStop: deviceId => estop.findStop(deviceId)?.reason,
    onStop: listener => {
      const undo = [
        host.runs.onHalt(halted => listener(deviceId => deviceId === halted)),
        estop.onEngage(() => listener(deviceId => estop.findStop(deviceId) !== undefined)),
      ]
      return () => {
        for (const off of undo) off()
      }
    },
    time: new CoordinatorTime(parts),
    now,
  })
}
