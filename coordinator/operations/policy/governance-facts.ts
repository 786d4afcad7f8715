import { isAppendOnly } from '../../audit/append-only.ts'
import { verifyOnce } from '../../audit/audit.ts'
import { queryAudit } from '../../audit/query.ts'
import type { GovernanceFacts } from '../../gates/facts.ts'
import { listPeople } from '../../keys/people.ts'
import type { Context } from '../context.ts'

/** As many of the newest requests and rows as the checks look at. */
const LOOKED_AT = 1000

/** What the governance checks look at, as it is now in the caller's tenant. */
export const gatherFacts = async (context: Context): Promise<GovernanceFacts> => {
  const { store, gates, policy, keys, cells, listens, auditDays, tenantId = '' } = context
  const scope = { tenantId }
  const [verdict, appendOnly, requests, gateRows, allKeys, persons, allCells] = await Promise.all([
    verifyOnce(store.ledger),
    isAppendOnly(store.ledger),
    gates.list({ limit: LOOKED_AT }, scope),
    queryAudit(store.ledger, { action: 'gate.*', order: 'newest', limit: 8 * LOOKED_AT }, scope),
    keys.list(scope),
    listPeople(store.ledger, scope),
    cells.list(),
  ])
  return {
    ...{ gates: gates.definitions, policy, requests, gateRows, persons, listens },
    now: context.now(),
    keys: allKeys,
    cells: allCells,
    audit: {
      ok: verdict.ok,
      reason: verdict.ok ? undefined : verdict.reason,
      appendOnly,
      retentionDays: auditDays,
    },
  }
}
