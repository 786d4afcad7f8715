import type { CommandRecord } from '../../control/command.ts'
import { commandEnd } from '../../control/command-end.ts'
import type { Cell } from '../../fleet/cell.ts'
import { isPresent } from '../../fleet/presence.ts'
import type { Context } from '../context.ts'
import type { UrgentDeviceCommand } from './plan-device-command.ts'

const END_MS = 30_000
/** Longest wait for the other cells once one has brought the device to rest. */
const OTHERS_MS = 1000

/** End of an urgent command on one of the cells that announce its device. */
export interface UrgentEnd {
  cellId: string
  /** Undefined where the command could not be created. */
  command: CommandRecord | undefined
  reason: string | undefined
}

/**
 * Sends an urgent command to the cell of a device and to every other connected cell that announces
 * it: nobody knows which of them reaches it. Rejects only when no cell could be asked.
 */
export const runOnEveryCell = async (
  { device, request }: UrgentDeviceCommand,
  { commands, fleet, actor, signal }: Context,
): Promise<UrgentEnd[]> => {
  const others = device.alsoOn.filter(cellId => {
    const cell = fleet.cell(cellId)
    return cell !== undefined && isPresent(cell.presence) && isUrgentOn(cell, request)
  })
  const cellIds = [...new Set([request.cellId, device.cellId, ...others])]
  const done = new AbortController()
  const until = AbortSignal.any([signal, done.signal])
  const ends = await Promise.allSettled(
    cellIds.map(async cellId => {
      const made = await commands.create({ ...request, cellId, mode: 'live' }, actor)
      const end = await commandEnd(commands, made, { timeoutMs: END_MS, signal: until })
      if (end.state === 'succeeded') setTimeout(() => done.abort(), OTHERS_MS).unref()
      return end
    }),
  )
  const [first] = ends
  if (first?.status === 'rejected' && ends.every(({ status }) => status === 'rejected'))
    throw first.reason
  return ends.map((end, at) => ({ cellId: cellIds[at] ?? '', ...describeEnd(end) }))
}

/** A verb that is urgent on one cell may need a plan and people on another one. */
const isUrgentOn = (
  { announce }: Pick<Cell, 'announce'>,
  { deviceId, verb }: UrgentDeviceCommand['request'],
): boolean => {
  const device = announce?.devices?.find(one => one.device_id === deviceId)
  const profile = announce?.device_profiles?.find(one => one.profile === device?.profile)
  return profile?.verbs.some(one => one.verb === verb && one.urgent === true) ?? false
}

const describeEnd = (end: PromiseSettledResult<CommandRecord>): Omit<UrgentEnd, 'cellId'> =>
  end.status === 'fulfilled'
    ? { command: end.value, reason: end.value.reason }
    : { command: undefined, reason: (end.reason as Error).message.slice(0, 300) }
