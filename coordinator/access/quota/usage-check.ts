import { sql } from 'kysely'
import { nextTurn, systemRuntime } from '../../../shared/runtime.ts'
import { DAY_MS, HOUR_MS } from '../../../shared/time.ts'
import { sumOf } from '../../kernel/store/count.ts'
import type { Ledger, Records, Store } from '../../kernel/store/store.ts'
import type { UsageRow } from './usage.table.ts'
import { addRow, createHour, type HourTotals } from './usage-hours.ts'

/** An hour whose usage is not what was written. */
export interface UsageLoss {
  /** Beginning of the hour, or of the day, unix milliseconds. */
  hourAt: number
  /** True for the sum of a day that differs from the sums of its hours, which are as recorded. */
  isDay?: true
  /** Requests and tokens that were recorded, and those that are found. */
  expected: UsageTotals
  found: UsageTotals
}

interface UsageTotals {
  requests: number
  tokens: number
}

type KnownHour = Omit<HourTotals, 'checksum'> & { checksum: number | null }

const NOTHING: UsageTotals = { requests: 0, tokens: 0 }

/**
 * Compares the hours of the records with what the ledger expects of them: records that are missing,
 * older, or cut have less. Anchors are read first, because rows reach the records first, and once
 * more at the end, because the keeper forgets the anchor of an hour before the hour itself.
 */
export const findMissingUsage = async ({
  ledger,
  records,
}: Pick<Store, 'ledger' | 'records'>): Promise<UsageLoss[]> => {
  const anchors = await readAnchors(ledger)
  const hours = new Map((await readHours(records)).map(hour => [hour.hour_at, hour]))
  const losses = anchors.flatMap(anchor => {
    const found = hours.get(anchor.hour_at) ?? NOTHING
    return hasAll(found, anchor) ? [] : [createLoss(anchor.hour_at, anchor, found)]
  })
  if (losses.length === 0) return []
  const kept = new Set((await readAnchors(ledger)).map(({ hour_at }) => hour_at))
  return losses.filter(({ hourAt }) => kept.has(hourAt))
}

/**
 * Compares the rows and the sums of each hour with its totals, the newest hour first, in small steps
 * with a turn of the event loop between them, and the sums of the days whose hours are as they were
 * written. An hour that changes meanwhile is left out.
 */
export async function* findChangedUsage(
  records: Pick<Records, 'read'>,
  signal: AbortSignal,
): AsyncGenerator<UsageLoss> {
  const days = new Set<number>()
  const changedDays = new Set<number>()
  for (const known of await readHours(records)) {
    if (signal.aborted) return
    const day = known.hour_at - (known.hour_at % DAY_MS)
    days.add(day)
    const found = (await findChangedRows(records, known)) ?? (await findChangedSums(records, known))
    const after = found && (await readHour(records, known.hour_at))
    const isSettled = after?.tokens === known.tokens && after.checksum === known.checksum
    if (found) changedDays.add(day)
    if (found && isSettled && after.requests === known.requests)
      yield createLoss(known.hour_at, known, found)
    await nextTurn(systemRuntime)
  }
  const kept = [...days].filter(day => !changedDays.has(day))
  yield* findChangedDays(records, kept, signal)
}

/** Compares the sums of days with those of their hours. */
async function* findChangedDays(
  { read }: Pick<Records, 'read'>,
  days: Iterable<number>,
  signal: AbortSignal,
): AsyncGenerator<UsageLoss> {
  for (const day of days) {
    if (signal.aborted) return
    // one statement: both are written in the same transaction
    const sums = await read
      .selectFrom('usage_days')
      .select(SUMS)
      .select(sql<number>`0`.as('isOfHours'))
      .where('day_at', '=', day)
      .unionAll(
        read
          .selectFrom('usage_buckets')
          .select(SUMS)
          .select(sql<number>`1`.as('isOfHours'))
          .where('hour_at', '>=', day)
          .where('hour_at', '<', day + DAY_MS),
      )
      .execute()
    const expected = sums.find(({ isOfHours }) => isOfHours === 1) ?? NOTHING
    const found = sums.find(({ isOfHours }) => isOfHours === 0) ?? NOTHING
    if (expected.requests !== found.requests || expected.tokens !== found.tokens)
      yield { ...createLoss(day, expected, found), isDay: true }
    await nextTurn(systemRuntime)
  }
}

export const listChangedUsage = async (records: Pick<Records, 'read'>): Promise<UsageLoss[]> => {
  const losses: UsageLoss[] = []
  for await (const loss of findChangedUsage(records, new AbortController().signal))
    losses.push(loss)
  return losses
}

/** Losses of two comparisons, each hour and each day once. */
export const joinLosses = (
  missing: readonly UsageLoss[],
  changed: readonly UsageLoss[],
): UsageLoss[] => {
  const known = new Set(missing.map(({ hourAt }) => hourAt))
  return [...missing, ...changed.filter(({ hourAt, isDay }) => isDay || !known.has(hourAt))]
}

/** Number of hours with usage, and of the requests in them. */
export const sumUsage = async (
  records: Pick<Records, 'read'>,
): Promise<{ hours: number; requests: number }> => {
  const hours = await readHours(records)
  return { hours: hours.length, requests: hours.reduce((sum, { requests }) => sum + requests, 0) }
}

const createLoss = (hourAt: number, expected: UsageTotals, found: UsageTotals): UsageLoss => ({
  hourAt,
  expected: { requests: expected.requests, tokens: expected.tokens },
  found: { requests: found.requests, tokens: found.tokens },
})

/** More is no loss: coordinators of an older version insert rows without adding them to the hour. */
const hasAll = (found: UsageTotals, { requests, tokens }: UsageTotals): boolean =>
  found.requests >= requests && found.tokens >= tokens

const readAnchors = ({ read }: Pick<Ledger, 'read'>) =>
  read.selectFrom('usage_anchors').selectAll().orderBy('hour_at', 'desc').execute()

const readHours = ({ read }: Pick<Records, 'read'>): Promise<KnownHour[]> =>
  read.selectFrom('usage_hours').selectAll().orderBy('hour_at', 'desc').execute()

const readHour = ({ read }: Pick<Records, 'read'>, hourAt: number) =>
  read.selectFrom('usage_hours').selectAll().where('hour_at', '=', hourAt).executeTakeFirst()

/** Undefined for rows as they were written, and for an hour whose rows were purged. */
const findChangedRows = async (
  records: Pick<Records, 'read'>,
  known: KnownHour,
): Promise<UsageTotals | undefined> => {
  if (known.checksum === null) return undefined
  const found = createHour(known.hour_at)
  for (const status of STATUSES)
    for await (const page of readRows(records, known.hour_at, status))
      for (const row of page) addRow(found, row)
  const hasMore = found.requests + found.tokens > known.requests + known.tokens
  const isWhole = hasAll(found, known) && (hasMore || found.checksum === known.checksum)
  return isWhole ? undefined : found
}

/** Rows are read by status, because it never changes: a row that is sealed meanwhile counts once. */
const STATUSES = ['ok', 'cancelled', 'failed', 'discarded'] as const satisfies UsageRow['status'][]

/** Rows of one turn of the event loop. */
const PAGE = 500

async function* readRows(
  { read }: Pick<Records, 'read'>,
  hourAt: number,
  status: UsageRow['status'],
) {
  for (let last = { at: hourAt, id: '' }; ; ) {
    const page = await read
      .selectFrom('usage')
      .selectAll()
      .where('status', '=', status)
      .where('at', '<', hourAt + HOUR_MS)
      .where(sql<boolean>`(at, id) > (${last.at}, ${last.id})`)
      .orderBy('at')
      .orderBy('id')
      .limit(PAGE)
      .execute()
    if (page.length > 0) yield page
    await nextTurn(systemRuntime)
    const end = page.at(-1)
    if (end === undefined || page.length < PAGE) return
    last = end
  }
}

/** Requests and tokens of rows of sums. */
const SUMS = [
  sql<number>`${sumOf('ok')} + ${sumOf('cancelled')} + ${sumOf('failed')}`.as('requests'),
  sql<number>`${sumOf('prompt_tokens')} + ${sumOf('completion_tokens')}`.as('tokens'),
] as const

/** Undefined for sums as they were written, and while some rows of the hour are not in them. */
const findChangedSums = async (
  { read }: Pick<Records, 'read'>,
  known: KnownHour,
): Promise<UsageTotals | undefined> => {
  const { hour_at } = known
  const open = read
    .selectFrom('usage')
    .select('id')
    .where('sealed', '=', 0)
    .where('at', '>=', hour_at)
    .where('at', '<', hour_at + HOUR_MS)
    .limit(1)
  const found = await read
    .selectFrom('usage_buckets')
    .select(SUMS)
    .select(({ exists }) => [sql<number>`case when ${exists(open)} then 1 else 0 end`.as('isOpen')])
    .where('hour_at', '=', hour_at)
    .executeTakeFirstOrThrow()
  if (found.isOpen === 1) return undefined
  return hasAll(found, known) ? undefined : found
}
