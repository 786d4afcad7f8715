import type { Transaction } from 'kysely'
import { ShoalError } from '../../../shared/errors.ts'
import { DAY_MS } from '../../../shared/time.ts'
import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import { bumpRevision } from '../../kernel/store/revisions.ts'
import type { Store } from '../../kernel/store/store.ts'
import type { RecordTables } from '../../kernel/store/tables.ts'
import { addDay } from './usage-buckets.ts'
import {
  findMissingUsage,
  joinLosses,
  listChangedUsage,
  sumUsage,
  type UsageLoss,
} from './usage-check.ts'

/** Sum of the missing usage over all hours. */
interface UsageAcceptance {
  hours: number
  /** Days whose sums were computed again from those of their hours. */
  days: number
  requests_missing: number
  tokens_missing: number
}

interface UsageVerdict {
  losses: UsageLoss[]
  /** Hours and requests that were compared. */
  hours: number
  requests: number
}

/** Compares every hour with the ledger and with its rows. */
export const verifyUsage = async (store: Store): Promise<UsageVerdict> => {
  const missing = await findMissingUsage(store)
  const losses = joinLosses(missing, await listChangedUsage(store.records))
  return { losses, ...(await sumUsage(store.records)) }
}

/**
 * Accepts that usage is missing: from now on what is found is what is expected, and a row of the
 * audit says who did it, why, and how much is missing. Throws `conflict` when nothing is.
 */
export const acceptUsage = async (
  store: Store,
  reason: string,
  by: Actor,
): Promise<UsageAcceptance> => {
  if (reason.trim() === '' || reason.length > 500)
    throw new ShoalError('invalid_request', 'reason must have 1 to 500 characters', {
      param: 'reason',
    })
  const changed = await listChangedUsage(store.records)
  for (const loss of changed)
    await store.records.sealed.write(async trx => {
      if (!loss.isDay) await setHour(trx, loss)
      await restoreDay(trx, loss.hourAt - (loss.hourAt % DAY_MS))
    })
  const lost = changed.filter(({ isDay }) => !isDay)
  const days = changed.length - lost.length
  const missing = await findMissingUsage(store)
  const hours = new Set([...lost, ...missing].map(({ hourAt }) => hourAt))
  if (hours.size + days === 0) throw new ShoalError('conflict', 'no usage is missing')
  // the losses of changed hours are in those that are missing by now
  const accepted = {
    hours: hours.size,
    days,
    ...sumMissing(missing.length > 0 ? missing : lost),
  }
  await store.ledger.sealed.write(async trx => {
    // less by what is missing, because more may have been recorded meanwhile
    for (const { hourAt, expected, found } of missing)
      await trx
        .updateTable('usage_anchors')
        .set(old => ({
          requests: old('requests', '-', Math.max(0, expected.requests - found.requests)),
          tokens: old('tokens', '-', Math.max(0, expected.tokens - found.tokens)),
        }))
        .where('hour_at', '=', hourAt)
        .execute()
    const entry = { ...by, action: 'usage.accept', subject: 'usage', outcome: 'done' } as const
    const at = await store.ledger.nowMs(trx)
    await appendAudit(trx, { ...entry, at, details: { reason, ...accepted } })
    await bumpRevision(trx, 'usage')
  })
  return accepted
}

/** Stores an hour without a checksum: the rows are accepted as they are. */
const setHour = async (
  trx: Transaction<RecordTables>,
  { hourAt, found: { requests, tokens } }: UsageLoss,
): Promise<void> => {
  await trx
    .updateTable('usage_hours')
    .set({ requests, tokens, checksum: null })
    .where('hour_at', '=', hourAt)
    .execute()
}

/** Computes the sum of a day from those of its hours. */
const restoreDay = async (trx: Transaction<RecordTables>, dayAt: number): Promise<void> => {
  await trx.deleteFrom('usage_days').where('day_at', '=', dayAt).execute()
  await addDay(trx, dayAt)
}

const sumMissing = (losses: readonly UsageLoss[]): Omit<UsageAcceptance, 'hours' | 'days'> => {
  let [requests_missing, tokens_missing] = [0, 0]
  for (const { expected, found } of losses) {
    requests_missing += expected.requests - found.requests
    tokens_missing += expected.tokens - found.tokens
  }
  return { requests_missing, tokens_missing }
}
