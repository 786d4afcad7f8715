/**
 * Works on items, a number of them at once, and yields each result when it is there. It ends when
 * the signal aborts, also while work is under way.
 */
export async function* runTogether<T, R>(
  items: readonly T[],
  concurrency: number,
  signal: AbortSignal,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const waiting = [...items]
  const running = new Set<Promise<R>>()
  const aborted = Promise.withResolvers<undefined>()
  const onAbort = (): void => aborted.resolve(undefined)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    while (!signal.aborted) {
      while (running.size < concurrency && waiting.length > 0)
        running.add(quiet(work(waiting.shift() as T)))
      if (running.size === 0) return
      const ended = [...running].map(async each => ({ each, result: await each }))
      const first = await Promise.race([aborted.promise, ...ended])
      if (first === undefined) return
      running.delete(first.each)
      yield first.result
    }
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** A failure that nobody waits for any more ends nothing. */
const quiet = <R>(promise: Promise<R>): Promise<R> => {
  promise.catch(() => {})
  return promise
}
