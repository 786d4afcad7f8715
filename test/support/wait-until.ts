/** Rest between two looks at something that changes by itself. */
export const pause = (milliseconds = 20): Promise<void> =>
  new Promise(done => setTimeout(done, milliseconds))

/** Deadline far above any wait on a busy machine, and below the time-out of a file. */
export const DEADLINE_MS = 120_000

/**
 * Looks until the result is truthy, and returns that. After two minutes, or another limit, the test
 * fails with the name of what did not happen. A key has 300 looks a minute.
 */
export const waitUntil = async <T>(
  what: string,
  look: () => T | Promise<T>,
  everyMs = 20,
  withinMs = DEADLINE_MS,
): Promise<Exclude<T, false | undefined | null>> => {
  const deadline = performance.now() + withinMs
  for (;;) {
    const seen = await look()
    if (seen) return seen as Exclude<T, false | undefined | null>
    if (performance.now() > deadline)
      throw new Error(`${what}: not within ${withinMs / 1000} seconds`)
    await pause(everyMs)
  }
}
