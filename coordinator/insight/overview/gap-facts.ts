import type { GateViews } from '../../access/gates/open.ts'
import { gatherFacts } from '../../access/gates/operations/policy/governance-facts.ts'
import { isLive } from '../../access/keys/key.ts'
import type { KeyViews } from '../../access/keys/open.ts'
import type { PeopleViews } from '../../access/people/open.ts'
import type { FleetViews } from '../../fleet/cells/open.ts'
import { listPromisedModels } from '../../fleet/cells/promised-models.ts'
import type { EnrolmentViews } from '../../fleet/enrolment/open.ts'
import type { ModelViews } from '../../fleet/models/open.ts'
import type { AuditViews } from '../../kernel/audit/open.ts'
import type { Context } from '../../kernel/declaration/context.ts'
import type { ListenerViews } from '../../kernel/tls/open.ts'
import type { BackupViews } from '../backup/open.ts'
import { reportsFor } from '../compliance/operations/framework-report.ts'
import { judgeBackups } from '../reports/backup-standing.ts'
import type { GapFacts } from '../reports/gaps.ts'

/** Gathers what is declared and what exists; persons are those of the caller's tenant. */
export const gatherGapFacts = async (
  context: Context &
    AuditViews &
    BackupViews &
    EnrolmentViews &
    FleetViews &
    GateViews &
    KeyViews &
    ListenerViews &
    ModelViews &
    PeopleViews,
): Promise<GapFacts> => {
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
