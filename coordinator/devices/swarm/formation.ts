import type { CommandRecord } from '../../fleet/control/command.ts'
import { isFinalCommandState } from '../../fleet/control/command.ts'
import type { StartedFormation } from './formation.table.ts'

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
