import {
  type AckState,
  type Command,
  type CommandProgress,
  FINAL_STATES,
  type Hazard,
  type VerbFacts,
} from '../../../shared/wire/command.ts'
import type { Asked, Seen } from '../../../shared/wire/device-outcome.ts'
import { type CommandRow, commandTable, type StoredCommand } from './command.table.ts'

/**
 * State of a command. The coordinator sets `queued` and `sent`; all others are reported by the
 * cell.
 */
export type CommandState = StoredCommand['state']

/** Members that a command has in memory and in the store alike. */
type CommonMember =
  | 'id'
  | 'cellId'
  | 'state'
  | 'reason'
  | 'message'
  | 'result'
  | 'issuedAt'
  | 'updatedAt'
  | 'sends'
  | 'requestedBy'
  | 'signed'

/** A command as the coordinator keeps it. Times are unix milliseconds. */
export interface CommandRecord extends Pick<StoredCommand, CommonMember> {
  /** A device of the cell; absent for the cell itself. */
  deviceId?: string
  verb: string
  params: Record<string, unknown>
  hazard: Hazard
  mode: Command['mode']
  fence: number
  /** Instructions sent to the device, with their acknowledgements. */
  asked?: Asked
  /** Observed state of the device. */
  seen?: Seen
  /** Progress of a command that is executing. Never stored on disk. */
  progress?: CommandProgress
  expiresAt: number
  timeoutSeconds: number
  /**
   * Coordinator that sends it; undefined for one that is offered to every coordinator with a
   * connection to the cell.
   */
  holder: string | undefined
}

/** A new state of a command, and the states in the store that it may follow. */
export interface CommandChange {
  record: CommandRecord
  follows: readonly CommandState[]
}

/** Time that an overdue ack is still waited for; a later one is not expected. */
const GRACE_MS = 5000

export const isFinalCommandState = (state: CommandState): boolean => FINAL_STATES.includes(state)

/** Time at which a command that has not ended is given up. */
export const deadlineOf = ({
  state,
  expiresAt,
  timeoutSeconds,
}: Pick<CommandRecord, 'state' | 'expiresAt' | 'timeoutSeconds'>): number => {
  if (state === 'queued') return expiresAt
  return expiresAt + GRACE_MS + (state === 'sent' ? 0 : timeoutSeconds * 1000)
}

/** Reason of `unknown` for a command whose cell has not reported its end. */
export const NO_ANSWER = 'no_answer'

/** Reason of `expired` for a command that never left. */
export const NOT_SENT = 'not_sent'

/**
 * Final state of a command that a coordinator gives up. A command that was never sent certainly did
 * not run. The outcome of one that is `queued` and was held by another coordinator is unknown: the
 * record that it was sent may have been lost with that process.
 */
export const abandonedStateOf = (
  { state, holder }: Pick<CommandRecord, 'state' | 'holder'>,
  coordinator: string,
) =>
  state === 'queued' && (holder === undefined || holder === coordinator)
    ? { state: 'expired' as const, reason: NOT_SENT, message: 'the cell did not connect in time' }
    : {
        state: 'unknown' as const,
        reason: NO_ANSWER,
        message: 'the cell has not reported an outcome',
      }

/** States of a command that has not ended, in order. */
export const OPEN_STATES: readonly CommandState[] = ['queued', 'sent', 'accepted', 'executing']

/** Open states up to this one: what the store may show of a command that this process has in it. */
export const openStatesUpTo = (state: CommandState): readonly CommandState[] =>
  OPEN_STATES.slice(0, OPEN_STATES.indexOf(state) + 1)

/**
 * States that an ack with this state may follow; an `expired` command only if it was not sent, and
 * `unknown` follows another only where the cell had not answered.
 */
export const statesBefore = (to: AckState): readonly CommandState[] =>
  [...OPEN_STATES, 'expired' as const, 'unknown' as const].filter(from =>
    follows(from, to, from === 'expired' ? NOT_SENT : NO_ANSWER),
  )

/** True when the stored record tells more about an open command than the one in memory. */
export const isAhead = (stored: CommandRecord, known: CommandRecord): boolean => {
  const steps = OPEN_STATES.indexOf(stored.state) - OPEN_STATES.indexOf(known.state)
  return (
    isFinalCommandState(stored.state) || steps > 0 || (steps === 0 && stored.sends > known.sends)
  )
}

/**
 * True when an ack of the cell changes the record. States only advance and final states are kept,
 * but the cell can still report the outcome of a command that the coordinator has given up.
 */
export const follows = (from: CommandState, to: AckState, reason?: string): boolean => {
  if (from === 'expired' && reason === NOT_SENT) return true
  if (from === 'unknown')
    return isFinalCommandState(to) && (to !== 'unknown' || reason === NO_ANSWER)
  if (isFinalCommandState(from)) return false
  return isFinalCommandState(to) || OPEN_STATES.indexOf(to) > OPEN_STATES.indexOf(from)
}

/** Commands of one lane are sent and carried out in order: those of a device, or of the cell. */
export const laneOf = ({ cellId, deviceId = '' }: Pick<CommandRecord, 'cellId' | 'deviceId'>) =>
  `${cellId} ${deviceId}`

/** True when a command may be sent: at most twice, and never after it has expired. */
export const maySend = (
  { state, sends, expiresAt }: Pick<CommandRecord, 'state' | 'sends' | 'expiresAt'>,
  now: number,
): boolean => now < expiresAt && (state === 'queued' || (state === 'sent' && sends < 2))

const outcomeOf = ({ asked, seen }: CommandRecord): StoredCommand['outcome'] =>
  asked === undefined && seen === undefined
    ? undefined
    : { ...(asked && { asked }), ...(seen && { seen }) }

export const toStoredCommand = (record: CommandRecord): StoredCommand => ({
  ...record,
  outcome: outcomeOf(record),
  timeoutMs: Math.round(record.timeoutSeconds * 1000),
  deviceId: record.mode === 'live' ? record.deviceId : undefined,
})

export const toCommandRecord = (row: CommandRow): CommandRecord => {
  const { timeoutMs, outcome, deviceId: _, holder, ...stored } = commandTable.read(row)
  const sent = newRecord(stored.signed, timeoutMs / 1000, stored.requestedBy, holder)
  return { ...sent, ...stored, ...outcome }
}

export const newRecord = (
  signed: Command,
  timeoutSeconds: VerbFacts['timeout_seconds'],
  requestedBy: string,
  holder?: string,
): CommandRecord => ({
  id: signed.id,
  cellId: signed.cell_id,
  ...(signed.device_id === undefined ? {} : { deviceId: signed.device_id }),
  verb: signed.verb,
  params: signed.params,
  hazard: signed.hazard,
  mode: signed.mode,
  fence: signed.fence,
  state: 'queued',
  issuedAt: signed.issued_at,
  expiresAt: signed.expires_at,
  updatedAt: signed.issued_at,
  timeoutSeconds,
  sends: 0,
  requestedBy,
  signed,
  holder,
})
