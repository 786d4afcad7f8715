import { DAY_MS, startOfHour } from '../../../shared/time.ts'
import type { Ledger, Records } from '../../kernel/store/store.ts'
import { forgetAnchors } from './usage-anchors.ts'
import { forgetBuckets, forgetChecksums, forgetRows, sealRows } from './usage-buckets.ts'

interface UsageKeeper {
  /** Seals the hours that are over and forgets what is too old. */
  tidy(): Promise<void>
  /** Resolves when nothing is under way any more. */
  close(): Promise<void>
}

interface UsageKeeperOptions {
  records: Pick<Records, 'sealed' | 'free'>
  ledger: Pick<Ledger, 'free'>
  /** Retention of single requests and hourly sums, in days. */
  retention: { row_days: number; bucket_days: number }
  /** Unix time, milliseconds. */
  now: () => number
}

/** Rows of one transaction: a few milliseconds in which nothing else is done. */
const BATCH = 200

/**
 * Keeps the records of usage small: rows become sums of an hour, and both go when they are old. Every
 * step is right whoever else does it at the same time, so that the lead, which is kept in another
 * database, need not be checked in its transactions.
 */
export const createUsageKeeper = ({
  records,
  ledger,
  retention: { row_days, bucket_days },
  now,
}: UsageKeeperOptions): UsageKeeper => {
  let running: Promise<void> | undefined
  let closed = false

  const repeatStep = async (step: () => Promise<boolean>): Promise<void> => {
    while (!closed && (await step()));
  }
  const tidyOnce = async (): Promise<void> => {
    const at = now()
    await repeatStep(() => sealRows(records, startOfHour(at), BATCH))
    // what is purged is not missed: the expectation goes first
    await forgetChecksums(records, at - row_days * DAY_MS)
    await repeatStep(() => forgetRows(records, at - row_days * DAY_MS, BATCH))
    await forgetAnchors(ledger, at - bucket_days * DAY_MS)
    await forgetBuckets(records, at - bucket_days * DAY_MS)
  }
  const tidy: UsageKeeper['tidy'] = () => {
    running ??= tidyOnce().finally(() => {
      running = undefined
    })
    return running
  }
  return {
    tidy,
    close: async () => {
      closed = true
      await running?.catch(() => {})
    },
  }
}
