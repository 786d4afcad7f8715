import type { TokenBucket } from '../../shared/token-bucket.ts'
import type { Wait } from '../../shared/wait.ts'
import type { Batch, Spool } from './spool.ts'

const WINDOW = 4

export interface SpoolDrainOptions {
  spool: Pick<Spool, 'next' | 'markSent' | 'markDone'>
  /** Resolves when the coordinator has it. */
  send: (batch: Batch) => Promise<void>
  bucket: TokenBucket
  wait: Wait
  signal: AbortSignal
  /** Batches that are under way at once; with one they arrive in order. */
  window?: number
}

/**
 * Sends the spool's records, oldest first, in small batches, until it is empty. A batch that was in
 * flight when a connection ended is sent alone, so that only the culprit is given up.
 */
export const drain = async (options: SpoolDrainOptions): Promise<void> => {
  const { spool, bucket, wait, signal, window = WINDOW } = options
  const underWay = new Set<Promise<void>>()
  while (!signal.aborted) {
    const batch = await spool.next()
    if (batch === undefined) break
    const alone = batch.attempts > 0
    if (alone) await Promise.all(underWay)
    await wait(bucket.take(batch.bytes), signal)
    if (signal.aborted) break
    const sending = sendOne(batch, options)
    underWay.add(sending)
    sending.then(
      () => underWay.delete(sending),
      () => {},
    )
    if (alone) await sending
    else if (underWay.size >= window) await Promise.race(underWay)
  }
  await Promise.all(underWay)
}

const sendOne = async (batch: Batch, { spool, send }: SpoolDrainOptions): Promise<void> => {
  spool.markSent(batch)
  await send(batch)
  spool.markDone(batch)
}
