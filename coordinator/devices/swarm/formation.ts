import type { Asked, Seen } from '../../../shared/wire/device-outcome.ts'
import type { FormationParams, SiteOrigin } from '../../../shared/wire/formation.ts'
import type { CommandRecord } from '../../fleet/control/command.ts'
import { isFinalCommandState } from '../../fleet/control/command.ts'

/**
 * `running` until all cells have reported; `aborting` while cells bring their units to rest, then
 * `aborted` for a person's abort and `failed` for every other reason.
 */
export type FormationState = 'running' | 'aborting' | 'reached' | 'aborted' | 'failed'
export const OPEN_FORMATION_STATES: readonly FormationState[] = ['running', 'aborting']

/** End of a unit. */
export interface UnitOutcome {
  device_id: string
  cell_id: string
  /** Distance from its slot; null when it is not known. */
  distance_m: number | null
  reached: boolean
  /** Operations of its newest move, and the state observed; absent before the first. */
  asked?: Asked
  seen?: Seen
}

/** A formation that was started. Times are unix milliseconds. */
export interface StartedFormation {
  id: string
  tenantId: string
  requestId: string
  formation: string
  state: FormationState
  /** The plan as people approved it. */
  plan: ApprovedFormation
  createdBy: string
  createdAt: number
  startAt: number
  endsAt: number
  changedAt: number
  endedAt: number | undefined
  reason: string | undefined
  stoppedBy: string | undefined
  outcome: readonly UnitOutcome[] | undefined
  parts: readonly FormationPart[]
}

export interface FormationPart {
  cellId: string
  partHash: string
  commandId: string
}

/** Part of an approved plan that the coordinator needs; the plan has more for people. */
export interface ApprovedFormation {
  formation: string
  position_m: number
  /** Origin of the frame, where a unit knows its position on the globe. */
  origin?: SiteOrigin | undefined
  /** Least distance between a unit and anything else. */
  required_m: number
  units: { device_id: string; cell_id: string; name: string; slot: number[] }[]
  cells: readonly { cell_id: string; params: Pick<FormationParams, 'stages'> }[]
}

/** Time before the start at which every cell must have begun its command, in milliseconds. */
const ACCEPT_MS = 1000
/** Time after the planned end, and after an abort, in which cells report, in milliseconds. */
const REPORT_MS = 30_000

export type Decision =
  | { do: 'nothing' }
  | { do: 'abort'; reason: string }
  | { do: 'stop' }
  | { do: 'end'; hasReported: boolean }

type Judged = Pick<StartedFormation, 'state' | 'startAt' | 'endsAt' | 'changedAt'>

/**
 * Decides what follows from the commands of a formation: no unit may start before every cell has
 * accepted, and what ends on one cell ends on all.
 */
export const judgeFormation = (
  { state, startAt, endsAt, changedAt }: Judged,
  commands: readonly Pick<CommandRecord, 'cellId' | 'state' | 'reason' | 'message'>[],
  now: number,
): Decision => {
  const haveEnded = commands.every(command => isFinalCommandState(command.state))
  if (state === 'aborting')
    return haveEnded || now > changedAt + REPORT_MS
      ? { do: 'end', hasReported: haveEnded }
      : { do: 'stop' }
  const failed = commands.find(
    command => isFinalCommandState(command.state) && command.state !== 'succeeded',
  )
  if (failed !== undefined)
    return {
      do: 'abort',
      reason: `${failed.cellId}: ${failed.message ?? failed.reason ?? failed.state}`,
    }
  if (haveEnded) return { do: 'end', hasReported: true }
  const waiting = commands.find(command => !hasBegun(command))
  if (waiting !== undefined && now > startAt - ACCEPT_MS)
    return { do: 'abort', reason: `${waiting.cellId} has not accepted before the start` }
  if (now > endsAt + REPORT_MS)
    return { do: 'abort', reason: 'a cell has not reported the end in time' }
  return { do: 'nothing' }
}

const hasBegun = ({ state }: Pick<CommandRecord, 'state'>): boolean =>
  state === 'executing' || isFinalCommandState(state)
