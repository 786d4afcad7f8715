import { FormationResult } from '../../../shared/wire/formation.ts'
import { type CommandRecord, isFinalCommandState } from '../../fleet/control/command.ts'
import type { StartedFormation, UnitOutcome } from './formation.table.ts'

/** Final state of a formation, and the reason unless it has one. */
export const judgeEnd = (
  { state, reason, stoppedBy }: StartedFormation,
  { hasReported, missed }: { hasReported: boolean; missed: number },
): { state: 'reached' | 'aborted' | 'failed'; reason: string | undefined } => {
  if (state === 'aborting') {
    const silent = `${reason}; a cell has not reported the end`
    return {
      state: stoppedBy === undefined ? 'failed' : 'aborted',
      reason: hasReported ? undefined : silent,
    }
  }
  if (missed === 0) return { state: 'reached', reason: undefined }
  return { state: 'failed', reason: `${missed} units are not in their slots` }
}

/** End of each unit, from the results of the commands. */
export const listOutcomes = (
  { plan }: StartedFormation,
  commands: readonly CommandRecord[],
): UnitOutcome[] => {
  const ends = new Map(
    commands
      .filter(({ state }) => isFinalCommandState(state))
      .flatMap(({ result }) => FormationResult.safeParse(result).data?.units ?? [])
      .map(({ device_id, ...end }) => [device_id, end]),
  )
  return plan.units.map(({ device_id, cell_id }) => {
    const { distance_m = null, ...outcome } = ends.get(device_id) ?? {}
    return {
      device_id,
      cell_id,
      distance_m,
      reached: distance_m !== null && distance_m <= plan.position_m,
      ...outcome,
    }
  })
}
