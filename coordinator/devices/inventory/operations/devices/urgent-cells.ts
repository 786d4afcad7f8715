import { detailsOf, ShoalError } from '../../../../../shared/errors.ts'
import type { Cell } from '../../../../fleet/cells/cell.ts'
import type { FleetViews } from '../../../../fleet/cells/open.ts'
import { isPresent } from '../../../../fleet/cells/presence.ts'
import {
  type CommandRecord,
  type CommandState,
  isFinalCommandState,
} from '../../../../fleet/control/command.ts'
import { commandEnd } from '../../../../fleet/control/command-end.ts'
import type { ControlViews } from '../../../../fleet/control/open.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import type { UrgentDeviceCommand } from './plan-device-command.ts'

/** Most cells that one urgent command is sent to. */
export const MAX_CELLS = 32
/** Longest wait for the other cells once the one that counts has brought the device to rest. */
const OTHERS_MS = 1000

/** End of an urgent command on one of the cells that announce its device. */
export interface UrgentEnd {
  cellId: string
  /** Command to the cell; undefined where it could not be created. */
  command: CommandRecord | undefined
  reason: string | undefined
}

/** Ends of an urgent command on all of its cells, and the one that is the answer. */
interface UrgentOutcome {
  /**
   * Command of the cell that the device belongs to, where it is reachable; else the first success.
   */
  command: CommandRecord
  cells: readonly UrgentEnd[]
}

/**
 * Sends an urgent command to the cell of a device and to every other connected cell that announces
 * it: nobody knows which of them reaches it. Rejects when no cell could be asked, and when the cell
 * of the device is connected and could not be.
 */
export const runOnEveryCell = async (
  { device, request }: UrgentDeviceCommand,
  { commands, fleet, actor, signal, runtime }: Context & ControlViews & FleetViews,
): Promise<UrgentOutcome> => {
  const others = device.alsoOn.filter(cellId => {
    const cell = fleet.cell(cellId)
    return cell !== undefined && isPresent(cell.presence) && isUrgentOn(cell, request)
  })
  const cellIds = [...new Set([request.cellId, device.cellId, ...others])].slice(0, MAX_CELLS)
  const isHere = (cellId: string): boolean => isPresent(fleet.cell(cellId)?.presence ?? 'unknown')
  const isOwnerHere = isHere(device.cellId)
  const done = new AbortController()
  const until = AbortSignal.any([signal, done.signal])
  const ends = await Promise.allSettled(
    cellIds.map(async cellId => {
      const made = await commands.create({ ...request, cellId, mode: 'live' }, actor)
      const timeoutMs = commands.urgentAnswerMs
      const end = await commandEnd(commands, made, { timeoutMs, signal: until, runtime })
      const isDecisive = cellId === device.cellId || !isOwnerHere
      if (end.state === 'succeeded' && isDecisive)
        runtime.setTimeout(() => done.abort(), OTHERS_MS).unref()
      return isFinalCommandState(end.state) ? end : markUnconfirmed(end)
    }),
  )
  const [first] = ends
  if (first?.status === 'rejected' && ends.every(({ status }) => status === 'rejected'))
    throw first.reason
  const cells = ends.map((end, at) => ({ cellId: cellIds[at] ?? '', ...describeEnd(end) }))
  const owner = ends[cellIds.indexOf(device.cellId)]
  if (isOwnerHere && owner?.status === 'rejected') throw createOwnerError(owner.reason, cells)
  return { command: chooseCommand(cells, device.cellId, isOwnerHere), cells }
}

/**
 * The record of an open command as the answer shows it. The command goes on, and its own record has
 * the outcome later.
 */
const markUnconfirmed = (command: CommandRecord): CommandRecord => ({
  ...command,
  reason: UNCONFIRMED,
  message: describeOpen(command),
})

const UNCONFIRMED = 'unconfirmed'

const describeOpen = ({ cellId, state }: CommandRecord): string => {
  if (state === 'queued')
    return `${cellId} is not connected; it gets the command if it connects in time`
  if (state === 'sent') return `${cellId} has not answered yet; the command continues`
  return `${cellId} carries it out, and the device was not seen at rest yet`
}

/** States of a command that its cell has not answered. */
const UNANSWERED: readonly CommandState[] = ['queued', 'sent', 'expired', 'unknown']

/** Command whose state is that of the call: of the owner, unless nothing reaches it. */
const chooseCommand = (
  cells: readonly UrgentEnd[],
  ownerId: string,
  isOwnerHere: boolean,
): CommandRecord => {
  const made = cells.flatMap(({ command }) => command ?? [])
  const own = made.find(({ cellId }) => cellId === ownerId)
  if (own !== undefined && (isOwnerHere || !UNANSWERED.includes(own.state))) return own
  const command = made.find(({ state }) => state === 'succeeded') ?? made[0]
  if (command === undefined) throw new Error('an urgent command has no end')
  return command
}

/** The other cells were asked all the same: the error names what they did. */
const createOwnerError = (reason: unknown, cells: readonly UrgentEnd[]): ShoalError => {
  const told = cells.flatMap(({ cellId, command }) =>
    command === undefined ? [] : [`${cellId}: ${command.state}`],
  )
  return createPartlyError(reason, `other cells received it, ${told.join(', ')}`)
}

/** Error for a command that could not be created for one of several. */
export const createPartlyError = (cause: unknown, others: string): ShoalError => {
  const error =
    cause instanceof ShoalError
      ? cause
      : new ShoalError('internal', 'the command could not be stored')
  const options = { ...detailsOf(error), cause }
  return new ShoalError(error.code, `${error.message}; ${others}`, options)
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
