import { type Runtime, stopTimer } from '../../../shared/runtime.ts'

/** Longest time that one event waits for its reader, in milliseconds. */
const WAIT_MS = 2000

/**
 * Limits how long the producer of events waits for their reader: a reader that is further behind
 * gets no more of them, so that it cannot hold back an answer that others wait for.
 */
export const limitWait = <E>(
  tell: (event: E) => Promise<void> | void,
  runtime: Pick<Runtime, 'setTimeout'>,
): ((event: E) => Promise<void> | void) => {
  let isBehind = false
  const stopWaiting = async (taken: Promise<void>): Promise<void> => {
    const late = Promise.withResolvers<void>()
    const timer = runtime.setTimeout(() => {
      isBehind = true
      late.resolve()
    }, WAIT_MS)
    await Promise.race([taken, late.promise]).finally(() => stopTimer(timer))
  }
  return event => {
    const taken = isBehind ? undefined : tell(event)
    return taken && stopWaiting(taken)
  }
}
