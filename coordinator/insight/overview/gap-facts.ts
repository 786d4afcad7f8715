import { gatherFacts } from '../../access/gates/operations/policy/governance-facts.ts'
import { isLive } from '../../access/keys/key.ts'
import { listPromisedModels } from '../../fleet/cells/promised-models.ts'
import type { Context } from '../../kernel/declaration/context.ts'
import { reportsFor } from '../compliance/operations/framework-report.ts'
import { judgeBackups } from '../reports/backup-standing.ts'
import type { GapFacts } from '../reports/gaps.ts'

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
