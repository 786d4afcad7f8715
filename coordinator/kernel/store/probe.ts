import { type Runtime, waitBy } from '../../../shared/runtime.ts'
import type { Wait } from '../../../shared/wait.ts'
import { isDiskFault } from './faults.ts'
import type { Ledger } from './store.ts'

export interface StoreProbe {
  /** Returns the reason why the store is unreliable; undefined while it is healthy. */
  trouble(): string | undefined
  /**
   * Notes that a write has failed. When the disk is the cause, the store is unreliable from now
   * until the next probe succeeds.
   */
  noteFailure(error: unknown): void
}

interface ProbeOptions {
  signal: AbortSignal
  wait?: Wait
  runtime: Pick<Runtime, 'now' | 'nowMs' | 'setTimeout'>
}

const EVERY_MS = 2000
/** Interval after a failure, short so that the end of an outage is noticed soon. */
const AGAIN_MS = 500
const MAX_AGE_MS = 5000

/**
 * Commits one row, always the same: only a write that is on the disk tells that the disk is neither
 * full, nor gone, nor hanging.
 */
const probeWrite = async (ledger: Pick<Ledger, 'sealed'>, at: number): Promise<void> => {
  await ledger.sealed.write(trx =>
    trx
      .insertInto('probe')
      .values({ id: 1, at })
      .onConflict(conflict => conflict.column('id').doUpdateSet({ at }))
      .execute(),
  )
}

/** Repeats the probe write until the signal aborts. */
export const probeStore = (
  ledger: Pick<Ledger, 'sealed' | 'outage'>,
  { signal, runtime, wait = waitBy(runtime) }: ProbeOptions,
): StoreProbe => {
  const { nowMs } = runtime
  let committedAt = nowMs()
  let reason = 'a write has not completed'
  let failure: string | undefined

  const noteFailure = (error: unknown): void => {
    if (isDiskFault(error)) failure = (error as Error).message
  }
  const commit = async (): Promise<boolean> => {
    try {
      await probeWrite(ledger, runtime.now())
      committedAt = nowMs()
      reason = 'a write has not completed'
      failure = undefined
      return true
    } catch (error) {
      noteFailure(error)
      reason = (error as Error).message
      return false
    }
  }
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      const isCommitted = await commit()
      await wait(isCommitted ? EVERY_MS : AGAIN_MS, signal)
    }
  }
  void run()
  return {
    trouble: () => {
      const outage = ledger.outage()
      if (outage !== undefined) return outage
      if (failure !== undefined) return `a write has failed: ${failure}`
      const seconds = Math.floor((nowMs() - committedAt) / 1000)
      const isOld = nowMs() - committedAt > MAX_AGE_MS
      return isOld ? `nothing was written to the store for ${seconds} s: ${reason}` : undefined
    },
    noteFailure,
  }
}
