import { setImmediate } from 'node:timers/promises'
import { sql } from 'kysely'
import { sumOf } from '../store/count.ts'
import type { Records, Store } from '../store/store.ts'
import { HOUR_MS } from './usage-buckets.ts'
import { addRow, createHour, type HourTotals } from './usage-hours.ts'

/** An hour whose usage is not what was written. */
export interface UsageLoss {
  /** Beginning of the hour, unix milliseconds. */
  hourAt: number
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
 * older, or cut have less. Anchors are read first, because rows reach the records first.
 */
export const findMissingUsage = async ({
  ledger,
  records,
}: Pick<Store, 'ledger' | 'records'>): Promise<UsageLoss[]> => {
  const anchors = await ledger.read
    .selectFrom('usage_anchors')
    .selectAll()
    .orderBy('hour_at', 'desc')
    .execute()
  const hours = new Map((await readHours(records)).map(hour => [hour.hour_at, hour]))
  return anchors.flatMap(({ hour_at, requests, tokens }): UsageLoss[] => {
    const found = hours.get(hour_at) ?? NOTHING
    const isWhole = found.requests >= requests && found.tokens >= tokens
    return isWhole ? [] : [createLoss(hour_at, { requests, tokens }, found)]
  })
}

/**
 * Compares the rows and the sums of each hour with its totals, the newest hour first, in small steps
 * with a turn of the event loop between them. An hour that changes meanwhile is left out.
 */
export async function* findChangedUsage(
  records: Pick<Records, 'read'>,
  signal: AbortSignal,
): AsyncGenerator<UsageLoss> {
  for (const known of await readHours(records)) {
    if (signal.aborted) return
    const found = (await findChangedRows(records, known)) ?? (await findChangedSums(records, known))
    const after = found && (await readHour(records, known.hour_at))
    const isSettled = after?.tokens === known.tokens && after.checksum === known.checksum
    if (found && isSettled && after.requests === known.requests)
      yield createLoss(known.hour_at, known, found)
    await setImmediate()
  }
}

export const listChangedUsage = async (records: Pick<Records, 'read'>): Promise<UsageLoss[]> => {
  const losses: UsageLoss[] = []
  for await (const loss of findChangedUsage(records, new AbortController().signal))
    losses.push(loss)
  return losses
}

const createLoss = (hourAt: number, expected: UsageTotals, found: UsageTotals): UsageLoss => ({
  hourAt,
  expected: { requests: expected.requests, tokens: expected.tokens },
  found: { requests: found.requests, tokens: found.tokens },
})

const readHours = ({ read }: Pick<Records, 'read'>): Promise<KnownHour[]> =>
  read.selectFrom('usage_hours').selectAll().orderBy('hour_at', 'desc').execute()

const readHour = ({ read }: Pick<Records, 'read'>, hourAt: number) =>
  read.selectFrom('usage_hours').selectAll().where('hour_at', '=', hourAt).executeTakeFirst()

/** Undefined for rows as they were written, and for an hour whose rows were purged. */
const findChangedRows = async (
  records: Pick<Records, 'read'>,
  { hour_at, requests, tokens, checksum }: KnownHour,
): Promise<UsageTotals | undefined> => {
  if (checksum === null) return undefined
  const found = createHour(hour_at)
  for (const sealed of [0, 1])
    for await (const page of readRows(records, hour_at, sealed))
      for (const row of page) addRow(found, row)
  const isWhole =
    found.requests === requests && found.tokens === tokens && found.checksum === checksum
  return isWhole ? undefined : found
}

/** Rows of one turn of the event loop. */
const PAGE = 500

async function* readRows({ read }: Pick<Records, 'read'>, hourAt: number, sealed: number) {
  for (let last = { at: hourAt, id: '' }; ; ) {
    const page = await read
      .selectFrom('usage')
      .selectAll()
      .where('sealed', '=', sealed)
      .where('at', '<', hourAt + HOUR_MS)
      .where(sql<boolean>`(at, id) > (${last.at}, ${last.id})`)
      .orderBy('at')
      .orderBy('id')
      .limit(PAGE)
      .execute()
    if (page.length > 0) yield page
    await setImmediate()
    const end = page.at(-1)
    if (end === undefined || page.length < PAGE) return
    last = end
  }
}

/** Undefined for sums as they were written, and while some rows of the hour are not in them. */
const findChangedSums = async (
  { read }: Pick<Records, 'read'>,
  { hour_at, requests, tokens }: KnownHour,
): Promise<UsageTotals | undefined> => {
  const open = read
    .selectFrom('usage')
    .select('id')
    .where('sealed', '=', 0)
    .where('at', '>=', hour_at)
    .where('at', '<', hour_at + HOUR_MS)
    .limit(1)
  const found = await read
    .selectFrom('usage_buckets')
    .select(({ exists }) => [
      sql<number>`${sumOf('ok')} + ${sumOf('cancelled')} + ${sumOf('failed')}`.as('requests'),
      sql<number>`${sumOf('prompt_tokens')} + ${sumOf('completion_tokens')}`.as('tokens'),
      sql<number>`case when ${exists(open)} then 1 else 0 end`.as('isOpen'),
    ])
    .where('hour_at', '=', hour_at)
    .executeTakeFirstOrThrow()
  if (found.isOpen === 1) return undefined
  return found.requests === requests && found.tokens === tokens ? undefined : found
}
