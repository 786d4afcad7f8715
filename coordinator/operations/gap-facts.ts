import { listPromisedModels } from '../fleet/promised-models.ts'
import { isLive } from '../keys/key.ts'
import { judgeBackups } from '../reports/backup-standing.ts'
import type { GapFacts } from '../reports/gaps.ts'
import { reportsFor } from './compliance/framework-report.ts'
import type { Context } from './context.ts'
import { gatherFacts } from './policy/governance-facts.ts'

/** Gathers what is declared and what exists; persons are those of the caller's tenant. */
export const gatherGapFacts = async (context: Context): Promise<GapFacts> => {
  const { catalogue, fleet, cells, gates, backups, now } = context
  const [enrolled, { keys }, frameworks, listed] = await Promise.all([
    cells.list(),
    gatherFacts(context),
    reportsFor('all', context),
    backups.list(),
  ])
  return {
    models: listPromisedModels(catalogue, fleet),
    cells: enrolled,
    presenceOf: cellId => fleet.cell(cellId)?.presence,
    gates: gates.definitions,
    approvers: keys.filter(key => key.kind === 'person' && isLive(key, now())),
    frameworks,
    backups: judgeBackups(listed, now()),
  }
}
