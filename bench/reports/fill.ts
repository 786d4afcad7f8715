import { createUsage, type UsageRow } from '../../coordinator/access/quota/usage.ts'
import { forgetChecksums, sealRows } from '../../coordinator/access/quota/usage-buckets.ts'
import { CallHours } from '../../coordinator/calls/invoke/call-hours.ts'
import type { Store } from '../../coordinator/kernel/store/store.ts'
import { newId } from '../../shared/ids.ts'
import { DAY_MS, HOUR_MS } from '../../shared/time.ts'
import { type Random, randomOf } from '../../test/support/random.ts'
import { repeatDays } from './repeat-days.ts'

const TENANTS = 40
const KEYS_PER_TENANT = 5
const CELLS = 64
const MODELS = Array.from({ length: 12 }, (_, n) => `model-${n}`)
/** Models that one key uses. */
const MODELS_PER_KEY = 4
const OPERATIONS = ['fleet-utilization', 'usage-list', 'cells-list', 'policy-check', 'gates-list']

/** Rows of one transaction; the journal of a busy coordinator carries as many at once. */
const BATCH = 2000
/** Hours that are sealed together. */
const SEALED_HOURS = 24
const SEALED_ROWS = 20_000
const DEFAULT_ROW_DAYS = 35

const tenantAt = (n: number): string => (n === 0 ? 'demo' : `tenant-${n}`)
export const TENANT_IDS = Array.from({ length: TENANTS }, (_, n) => tenantAt(n))

interface Customer {
  keyId: string
  tenantId: string
  models: string[]
}

const createCustomers = ({ pick }: Random): Customer[] =>
  TENANT_IDS.flatMap(tenantId =>
    Array.from({ length: KEYS_PER_TENANT }, (_, n) => ({
      keyId: `key_${tenantId}_${n}`,
      tenantId,
      models: Array.from({ length: MODELS_PER_KEY }, () => pick(MODELS)),
    })),
  )

/** Requests of an hour relative to the mean of a week: fewer at night and at the weekend. */
const shareOfHour = (hourAt: number): number => {
  const hour = new Date(hourAt).getUTCHours()
  const day = new Date(hourAt).getUTCDay()
  const daily = 1 - 0.7 * Math.cos((2 * Math.PI * (hour - 3)) / 24)
  return daily * (day === 0 || day === 6 ? 0.5 : 1.2)
}

interface Year {
  /** Rows of the whole year. */
  rows: number
  days: number
  /** Days that are recorded row by row; the rest of the year repeats them. */
  recordedDays: number
  now: number
}

/**
 * Fills a store with a year of usage up to the end of this day. The first days are recorded through
 * the functions of the coordinator: rows with the totals of their hours and anchors, sealed into
 * sums day by day, and calls of operations. The other days are copies of them with later times. No
 * row is forgotten, as with `usage.row_days: 366`.
 */
export const fillYear = async (store: Store, year: Year): Promise<void> => {
  // whole days: sums of days are copied too
  const end = year.now - (year.now % DAY_MS) + DAY_MS
  const from = end - year.days * DAY_MS
  await recordDays(store, from, year)
  await repeatDays(store, { from, spanMs: year.recordedDays * DAY_MS, end })
  // the check of the rows that begins with the coordinator would read the whole year
  await forgetChecksums(store.records, end - DEFAULT_ROW_DAYS * DAY_MS)
}

const recordDays = async (
  store: Store,
  from: number,
  { rows, days, recordedDays }: Year,
): Promise<void> => {
  const random = randomOf(1)
  const customers = createCustomers(random)
  const usage = createUsage(store)
  const clock = { now: from }
  const calls = new CallHours(store.records, () => clock.now)
  const perHour = rows / days / 24
  let [recorded, expected] = [0, 0]
  let batch: UsageRow[] = []
  const write = async (): Promise<void> => {
    await usage.recordRows(batch)
    batch = []
  }
  for (let hour = 1; hour <= recordedDays * 24; hour++) {
    const hourAt = from + (hour - 1) * HOUR_MS
    expected += perHour * shareOfHour(hourAt)
    const count = Math.round(expected) - recorded
    for (let n = 0; n < count; n++) {
      batch.push(createRow(random, customers, hourAt + Math.floor((n * HOUR_MS) / count)))
      if (batch.length === BATCH) await write()
    }
    recorded += count
    clock.now = hourAt
    for (const tenantId of TENANT_IDS) {
      const call = { operationId: random.pick(OPERATIONS), tenantId, durationMs: 12 }
      calls.count({ ...call, failed: random.randomBelow(50) === 0 })
    }
    if (hour % SEALED_HOURS !== 0) continue
    await write()
    await usage.anchor()
    await calls.flush()
    while (await sealRows(store.records, hourAt + HOUR_MS, SEALED_ROWS));
  }
}

const createRow = (
  { randomFraction, randomBelow }: Random,
  customers: readonly Customer[],
  at: number,
): UsageRow => {
  // some keys are used far more than others
  const { keyId, tenantId, models } = customers[
    Math.floor(customers.length * randomFraction() ** 2)
  ] as Customer
  const id = newId('use', at)
  const outcome = randomFraction()
  const ttftMs = Math.floor(80 + 2000 * randomFraction() ** 4)
  const completion = 20 + randomBelow(800)
  const prompt = 50 + randomBelow(4000)
  return {
    id,
    request_id: id,
    at,
    key_id: keyId,
    tenant_id: tenantId,
    model: models[Math.floor(models.length * randomFraction() ** 2)] as string,
    cell_id: `cell_${randomBelow(CELLS)}`,
    route: 'chat',
    status: outcome < 0.97 ? 'ok' : outcome < 0.99 ? 'cancelled' : 'failed',
    prompt_tokens: prompt,
    completion_tokens: completion,
    cached_tokens: randomBelow(prompt),
    duration_ms: ttftMs + completion * 12,
    ttft_ms: randomBelow(3) === 0 ? null : ttftMs,
    retries: randomBelow(40) === 0 ? 1 : 0,
  }
}
