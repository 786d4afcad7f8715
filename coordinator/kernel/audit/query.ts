import { nextTurn, systemRuntime } from '../../../shared/runtime.ts'
import type { Scope } from '../store/scope.ts'
import type { Ledger } from '../store/store.ts'
import { AUDIT_COLUMNS, type AuditRow } from './audit.table.ts'

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

/** Rows that are looked through in one turn of the event loop: about 10 ms. */
const STEP = 20_000

/**
 * A tenant sees its own rows and those that belong to no tenant: cells, the fleet, the policy. What
 * is seldom or not there makes a long search, so it goes step by step and lets others in between.
 */
export const queryAudit = async (
  ledger: Ledger,
  filter: AuditFilter,
  scope: Scope,
  step: number = STEP,
): Promise<AuditRow[]> => {
  const { after, limit } = filter
  const isNewest = filter.order === 'newest'
  const { first, last } = await ends(ledger)
  const rows: AuditRow[] = []
  let low = isNewest ? 0 : Math.max(first, (after ?? 0) + 1)
  let high = isNewest ? Math.min(last, (after ?? last + 1) - 1) : 0
  while (rows.length < limit && (isNewest ? high >= first : low <= last)) {
    if (isNewest) low = high - step + 1
    else high = low + step - 1
    const wanted = { ...filter, limit: limit - rows.length }
    rows.push(...(await readRange(ledger, wanted, scope, low, high)))
    if (isNewest) high = low - 1
    else low = high + 1
    await nextTurn(systemRuntime)
  }
  return rows
}

/** One row by its number; undefined for one of another tenant, too. */
export const readAuditRow = async (
  ledger: Ledger,
  seq: number,
  scope: Scope,
): Promise<AuditRow | undefined> =>
  (await readRange(ledger, { order: 'oldest', limit: 1 }, scope, seq, seq))[0]

const ends = async ({ read }: Ledger): Promise<{ first: number; last: number }> => {
  const end = (order: 'asc' | 'desc') =>
    read.selectFrom('audit').select('seq').orderBy('seq', order).limit(1).executeTakeFirst()
  const [first, last] = await Promise.all([end('asc'), end('desc')])
  return { first: first?.seq ?? 1, last: last?.seq ?? 0 }
}

/** Rows with numbers from `low` to `high`, both with them. */
const readRange = (
  { read }: Ledger,
  { from, to, action, actor, subject, outcome, order, limit }: AuditFilter,
  scope: Scope,
  low: number,
  high: number,
): Promise<AuditRow[]> => {
  let query = read
    .selectFrom('audit')
    .select(AUDIT_COLUMNS)
    .where('seq', '>=', low)
    .where('seq', '<=', high)
    .orderBy('seq', order === 'newest' ? 'desc' : 'asc')
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
    query = query
      .where('action', '>=', action.slice(0, -1))
      .where('action', '<', upperBoundOf(action))
  else if (action !== undefined) query = query.where('action', '=', action)
  return query.execute()
}

/** The first text behind all that begin as the pattern does. */
const upperBoundOf = (pattern: string): string => `${pattern.slice(0, -1)}\uffff`
