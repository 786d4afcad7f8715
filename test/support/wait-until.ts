/** Rest between two looks at something that changes by itself. */
export const pause = (milliseconds = 20): Promise<void> =>
  new Promise(done => setTimeout(done, milliseconds))

/** Far more than any wait takes on a busy machine, and less than the time-out of a file. */
export const DEADLINE_MS = 120_000

/**
 * Looks until the result is truthy, and returns that. After two minutes the test fails with the
 * name of what did not happen. A key has 300 looks a minute.
 */
export const waitUntil = async <T>(
  what: string,
  look: () => T | Promise<T>,
  everyMs = 20,
): Promise<Exclude<T, false | undefined | null>> => {
  const deadline = performance.now() + DEADLINE_MS
  for (;;) {
    const seen = await look()
    if (seen) return seen as Exclude<T, false | undefined | null>
    if (performance.now() > deadline)
      throw new Error(`${what}: not within ${DEADLINE_MS / 1000} seconds`)
    await pause(everyMs)
  }
}
