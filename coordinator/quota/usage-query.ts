import { type Expression, type SqlBool, sql } from 'kysely'
import { DAY_MS } from '../../shared/time.ts'
import type { Records } from '../store/store.ts'
import { hourOfRow, ROW_SUMS, USAGE_SUMS, type UsageSum } from './usage-buckets.ts'

/** Dimensions that usage may be grouped by; times are bucket starts in unix milliseconds. */
const USAGE_GROUPS = {
  hour: sql<number>`hour_at`,
  day: sql<number>`hour_at - hour_at % ${sql.lit(DAY_MS)}`,
  key: sql<string>`key_id`,
  tenant: sql<string>`tenant_id`,
  model: sql<string>`model`,
} as const
export type UsageGroup = keyof typeof USAGE_GROUPS
export const GROUP_NAMES = Object.keys(USAGE_GROUPS) as [UsageGroup, ...UsageGroup[]]

export interface UsageQuestion {
  /** Unix milliseconds at full hours; `from` belongs to it, `to` does not. */
  from: number
  to: number
  keyId?: string
  tenantId?: string
  model?: string
  groupBy: readonly UsageGroup[]
  /** Values of the groups of the last row of the page before. */
  after?: readonly (string | number)[]
  limit: number
}

export type UsageLine = Record<UsageSum, number> & Partial<Record<UsageGroup, string | number>>

/** Requests that reached a model: answered, cancelled by their client, or failed. */
export const countRequests = ({
  ok,
  cancelled,
  failed,
}: Pick<UsageLine, 'ok' | 'cancelled' | 'failed'>): number => ok + cancelled + failed

/**
 * Sums of usage, in the order of the groups. Sealed hours and the rows that are in none yet are
 * read by one statement, so that a row that is being sealed is counted once.
 */
export const queryUsage = async (
  { read }: Pick<Records, 'read'>,
  question: UsageQuestion,
): Promise<UsageLine[]> => {
  const { groupBy, after, limit } = question
  const groups = groupBy.map(name => USAGE_GROUPS[name])
  const named = groupBy.map(name => sql`${USAGE_GROUPS[name]} as ${sql.ref(`group_${name}`)}`)
  const sums = USAGE_SUMS.map(
    name => sql`cast(sum(${sql.ref(name)}) as bigint) as ${sql.ref(name)}`,
  )
  const page = after === undefined ? sql`1 = 1` : sql`(${sql.join(groups)}) > (${sql.join(after)})`
  const order =
    groups.length === 0 ? sql`` : sql`group by ${sql.join(groups)} order by ${sql.join(groups)}`
  const { rows } = await sql<Record<string, number | string | null>>`
    select ${sql.join([...named, ...sums])} from (${selectUsage(question)}) as used
    where ${page} ${order} limit ${limit}`.execute(read)
  return rows.filter(row => row.ok !== null).map(row => lineOf(row, groupBy))
}

const lineOf = (
  row: Record<string, number | string | null>,
  groupBy: readonly UsageGroup[],
): UsageLine =>
  ({
    ...Object.fromEntries(groupBy.map(name => [name, row[`group_${name}`]])),
    ...Object.fromEntries(USAGE_SUMS.map(name => [name, row[name]])),
  }) as UsageLine

/** Buckets, and rows as if each were one. */
const selectUsage = (question: UsageQuestion) => {
  const names = sql.join(USAGE_SUMS.map(name => sql.ref(name)))
  const values = sql.join(USAGE_SUMS.map(name => sql`${ROW_SUMS[name]} as ${sql.ref(name)}`))
  return sql`
    select hour_at, key_id, tenant_id, model, ${names} from usage_buckets
    where ${conditions(question, 'hour_at')}
    union all
    select ${hourOfRow} as hour_at, key_id, tenant_id, model, ${values} from usage
    where sealed = 0 and ${conditions(question, 'at')}`
}

const conditions = (question: UsageQuestion, time: 'hour_at' | 'at'): Expression<SqlBool> => {
  const { from, to, keyId, tenantId, model } = question
  const all = [sql<SqlBool>`${sql.ref(time)} >= ${from} and ${sql.ref(time)} < ${to}`]
  if (keyId !== undefined) all.push(sql`key_id = ${keyId}`)
  if (tenantId !== undefined) all.push(sql`tenant_id = ${tenantId}`)
  if (model !== undefined) all.push(sql`model = ${model}`)
  return sql`${sql.join(all, sql` and `)}`
}
