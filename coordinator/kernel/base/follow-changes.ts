import { type Runtime, stopTimer, type Timer } from '../../../shared/runtime.ts'
import { shareRuns } from './share-runs.ts'

interface ChangeSource {
  /** Calls back after a change. Returns how to stop that. */
  subscribe: (listener: () => void) => () => void
  read: () => Promise<void>
  onFailure: (error: Error) => void
  runtime: Pick<Runtime, 'setTimeout'>
  /** Wait before a read that has failed is repeated; 1 s. */
  retryMs?: number | undefined
}

export interface ChangeFollower {
  /** Reads now. Resolves after the attempt, whether or not it has failed. */
  look: () => Promise<void>
  /** Resolves when no read is under way; there is none afterwards. */
  close: () => Promise<void>
}

const RETRY_MS = 1000

/**
 * Reads what others have changed, one run at a time. A change is told only once, so a read that
 * fails is repeated until it succeeds. Of equal failures in a row only the first is reported.
 */
export const followChanges = ({
  subscribe,
  read,
  onFailure,
  runtime,
  retryMs = RETRY_MS,
}: ChangeSource): ChangeFollower => {
  let reported: string | undefined
  let isClosed = false
  let retry: Timer | undefined
  const run = shareRuns(async () => {
    stopTimer(retry)
    if (isClosed) return
    try {
      await read()
      reported = undefined
    } catch (error) {
      const { message } = error as Error
      if (message !== reported) onFailure(error as Error)
      reported = message
      if (!isClosed) retry = runtime.setTimeout(run, retryMs).unref()
    }
  })
  const unsubscribe = subscribe(run)
  return {
    look: run,
    close: async () => {
      isClosed = true
      unsubscribe()
      stopTimer(retry)
      await run()
    },
  }
}
