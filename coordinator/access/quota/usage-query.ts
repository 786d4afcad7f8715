import { type Expression, type SqlBool, sql } from 'kysely'
import { DAY_MS } from '../../../shared/time.ts'
import type { Records } from '../../kernel/store/store.ts'
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
  /** Sums to read, all without it; the others are 0. Fewer are faster over months. */
  sums?: readonly UsageSum[]
  /** Values of the groups of the last row of the page before. */
  after?: readonly (string | number)[]
  limit: number
}

/** Requests, tokens and time, without what describes the quality of the service. */
export const REQUEST_SUMS = [
  'ok',
  'cancelled',
  'failed',
  'prompt_tokens',
  'cached_tokens',
  'completion_tokens',
  'duration_ms',
] as const satisfies UsageSum[]

export type UsageLine = Record<UsageSum, number> & Partial<Record<UsageGroup, string | number>>

/** Requests that reached a model: answered, cancelled by their client, or failed. */
export const countRequests = ({
  ok,
  cancelled,
  failed,
}: Pick<UsageLine, 'ok' | 'cancelled' | 'failed'>): number => ok + cancelled + failed

/**
 * Sums of usage, in the order of the groups. Times of a long period are read span by span, because a
 * year has millions of buckets and the page ends after the first few of them; everything else is
 * made of whole days as far as possible.
 */
export const queryUsage = async (
  records: Pick<Records, 'scan'>,
  question: UsageQuestion,
): Promise<UsageLine[]> => {
  const { groupBy, limit, from, to } = question
  if (!groupBy.some(isTime) || to - from <= firstDaysOf(question) * DAY_MS)
    return readLines(records, question)
  const outer = groupBy.slice(0, groupBy.findIndex(isTime))
  const lines: UsageLine[] = []
  for (const part of await listParts(records, question, outer)) {
    lines.push(...(await readSpans(records, { ...part, limit: limit - lines.length })))
    if (lines.length === limit) break
  }
  return lines
}

const isTime = (name: UsageGroup): boolean => name === 'hour' || name === 'day'

/** Splits a question by the groups that come before the time, from the one that `after` is in. */
const listParts = async (
  records: Pick<Records, 'scan'>,
  question: UsageQuestion,
  outer: readonly UsageGroup[],
): Promise<UsageQuestion[]> => {
  if (outer.length === 0) return [question]
  const { after, ...rest } = question
  const begun = after?.slice(0, outer.length)
  const asked = { ...rest, groupBy: outer, ...(begun && { after: begun }) }
  const others = await readLines(records, { ...asked, sums: ['ok'] })
  const values = others.map(line => outer.map(name => line[name] as string))
  const parts = values.map(each => ({ ...rest, ...filterOf(outer, each) }))
  return begun === undefined
    ? parts
    : [{ ...question, ...filterOf(outer, begun as string[]) }, ...parts]
}

const FILTERS = { key: 'keyId', tenant: 'tenantId', model: 'model' } as const

const filterOf = (
  groups: readonly UsageGroup[],
  values: readonly string[],
): Partial<UsageQuestion> =>
  Object.fromEntries(groups.map((name, at) => [FILTERS[name as keyof typeof FILTERS], values[at]]))

/** Days of the first span: a day of hours takes as long as 24 days of days. */
const firstDaysOf = ({ groupBy }: UsageQuestion): number => (groupBy.includes('hour') ? 4 : 96)
/** Most that a span is longer than the one before. */
const MOST_GROWTH = 4

/** Lines in the order of time, by spans of whole days until the page is full. */
const readSpans = async (
  records: Pick<Records, 'scan'>,
  question: UsageQuestion,
): Promise<UsageLine[]> => {
  const { groupBy, after, to, limit } = question
  const last = after?.[groupBy.findIndex(isTime)]
  const lines: UsageLine[] = []
  let from = Math.max(question.from, last === undefined ? 0 : Number(last))
  for (let days = firstDaysOf(question); from < to && lines.length < limit; ) {
    const end = Math.min(to, from - (from % DAY_MS) + days * DAY_MS)
    const left = limit - lines.length
    const found = await readLines(records, { ...question, from, to: end, limit: left })
    lines.push(...found)
    const needed = Math.ceil((days * (left - found.length)) / found.length)
    days = Math.max(1, Math.min(needed, days * MOST_GROWTH))
    from = end
  }
  return lines
}

/** Lines of one statement: a row that is being sealed meanwhile is counted once. */
const readLines = async (
  { scan }: Pick<Records, 'scan'>,
  question: UsageQuestion,
): Promise<UsageLine[]> => {
  const { groupBy, after, limit, sums = USAGE_SUMS } = question
  const groups = groupBy.map(name => USAGE_GROUPS[name])
  const named = groupBy.map(name => sql`${USAGE_GROUPS[name]} as ${sql.ref(`group_${name}`)}`)
  const added = sums.map(name => sql`${addUp(name)} as ${sql.ref(name)}`)
  const page = after === undefined ? sql`1 = 1` : sql`(${sql.join(groups)}) > (${sql.join(after)})`
  const order =
    groups.length === 0 ? sql`` : sql`group by ${sql.join(groups)} order by ${sql.join(groups)}`
  const { rows } = await sql<Record<string, number | string | null>>`
    select ${sql.join([...named, ...added])} from (${selectUsage(question)}) as used
    where ${page} ${order} limit ${limit}`.execute(scan)
  return rows.filter(row => row.ok !== null).map(row => lineOf(row, groupBy))
}

const lineOf = (
  row: Record<string, number | string | null>,
  groupBy: readonly UsageGroup[],
): UsageLine =>
  ({
    ...Object.fromEntries(groupBy.map(name => [name, row[`group_${name}`]])),
    ...Object.fromEntries(USAGE_SUMS.map(name => [name, row[name] ?? 0])),
  }) as UsageLine

/** Columns that the groups are made of. */
const COLUMNS = {
  hour: 'hour_at',
  day: 'hour_at',
  key: 'key_id',
  tenant: 'tenant_id',
  model: 'model',
} as const satisfies Record<UsageGroup, string>

/**
 * Sums of whole days and of the hours beside them, and rows that are in none as if each were one. The
 * days are summed here already: PostgreSQL knows how many groups a table has, and not how many a union
 * has, which it would sort on the disk.
 */
const selectUsage = (question: UsageQuestion) => {
  const { from, to, groupBy, sums = USAGE_SUMS } = question
  const columns = [...new Set(groupBy.map(name => COLUMNS[name]))]
  const listOf = (time: Expression<unknown>, values: readonly Expression<unknown>[]) =>
    sql.join([
      ...columns.map(name => (name === 'hour_at' ? sql`${time} as hour_at` : sql.ref(name))),
      ...values,
    ])
  const names = sums.map(name => sql.ref(name))
  const values = sums.map(name => sql`${ROW_SUMS[name]} as ${sql.ref(name)}`)
  const added = sums.map(name => sql`${addUp(name)} as ${sql.ref(name)}`)
  const firstDay = Math.ceil(from / DAY_MS) * DAY_MS
  const lastDay = to - (to % DAY_MS)
  const hours = (start: number, end: number) => sql`
    select ${listOf(sql.ref('hour_at'), names)} from usage_buckets
    where ${conditions(question, sql`hour_at`, start, end)}`
  const grouped = columns.map(name => sql.ref(name === 'hour_at' ? 'day_at' : name))
  const sealed =
    groupBy.includes('hour') || firstDay >= lastDay
      ? hours(from, to)
      : sql`
    select ${listOf(sql.ref('day_at'), added)} from usage_days
    where ${conditions(question, sql`day_at`, firstDay, lastDay)}
    ${grouped.length === 0 ? sql`` : sql`group by ${sql.join(grouped)}`}
    union all ${hours(from, firstDay)}
    union all ${hours(lastDay, to)}`
  return sql`${sealed}
    union all
    select ${listOf(hourOfRow, values)} from (
      select * from usage where sealed = 0 and at >= ${from} and at < ${to}
    ) as open_rows where ${conditions(question, sql`at`, from, to)}`
}

/** PostgreSQL adds whole numbers up to a decimal one. */
const addUp = (name: UsageSum) => sql`cast(sum(${sql.ref(name)}) as bigint)`

const conditions = (
  { keyId, tenantId, model }: UsageQuestion,
  time: Expression<unknown>,
  from: number,
  to: number,
): Expression<SqlBool> => {
  const all = [sql<SqlBool>`${time} >= ${from} and ${time} < ${to}`]
  if (keyId !== undefined) all.push(sql`key_id = ${keyId}`)
  if (tenantId !== undefined) all.push(sql`tenant_id = ${tenantId}`)
  if (model !== undefined) all.push(sql`model = ${model}`)
  return sql`${sql.join(all, sql` and `)}`
}
