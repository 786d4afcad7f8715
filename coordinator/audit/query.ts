import type { Scope } from '../keys/scope.ts'
import type { Ledger } from '../store/store.ts'
import type { AuditRow } from '../store/tables.ts'

export interface AuditFilter {
  /** Unix milliseconds; `from` belongs to it, `to` does not. */
  from?: number
  to?: number
  /** The whole action, or with a star at its end all that begin so: `gate.*`. */
  action?: string
  actor?: string
  subject?: string
  outcome?: 'done' | 'refused'
  /** Rows beyond this number, in the direction of the order. */
  after?: number
  order: 'newest' | 'oldest'
  limit: number
}

/** A tenant sees its own rows and those that belong to no tenant: cells, the fleet, the policy. */
export const queryAudit = async (
  { read }: Ledger,
  { from, to, action, actor, subject, outcome, after, order, limit }: AuditFilter,
  scope: Scope,
): Promise<AuditRow[]> => {
  const newest = order === 'newest'
  let query = read
    .selectFrom('audit')
    .selectAll()
    .orderBy('seq', newest ? 'desc' : 'asc')
    .limit(limit)
  if (scope !== 'all')
    query = query.where(({ eb, or }) =>
      or([eb('tenant', '=', scope.tenantId), eb('tenant', 'is', null)]),
    )
  if (from !== undefined) query = query.where('at', '>=', from)
  if (to !== undefined) query = query.where('at', '<', to)
  if (actor !== undefined) query = query.where('actor', '=', actor)
  if (subject !== undefined) query = query.where('subject', '=', subject)
  if (outcome !== undefined) query = query.where('outcome', '=', outcome)
  if (action?.endsWith('*'))
    query = query.where('action', '>=', action.slice(0, -1)).where('action', '<', behind(action))
  else if (action !== undefined) query = query.where('action', '=', action)
  if (after !== undefined) query = query.where('seq', newest ? '<' : '>', after)
  return query.execute()
}

/** The first text behind all that begin as the pattern does. */
const behind = (pattern: string): string => `${pattern.slice(0, -1)}\uffff`
