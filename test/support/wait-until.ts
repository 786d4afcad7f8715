/** Rest between two looks at something that changes by itself. */
export const pause = (milliseconds = 20): Promise<void> =>
  new Promise(done => setTimeout(done, milliseconds))

/** Deadline far above any wait on a busy machine, and below the time-out of a file. */
export const DEADLINE_MS = 120_000

/** Longest rest between two looks, unless the test asks for a longer one. */
const LONGEST_REST_MS = 100
/** Share of a wait by which the rest may lengthen it. */
const REST_SHARE = 0.05

/**
 * Looks until the result is truthy, and returns that. After two minutes, or another limit, the test
 * fails with the name of what did not happen. A key has 300 looks a minute. The rest between two looks
 * grows with the wait: most looks ask a program that needs the same cores to get on.
 */
export const waitUntil = async <T>(
  what: string,
  look: () => T | Promise<T>,
  everyMs = 20,
  withinMs = DEADLINE_MS,
): Promise<Exclude<T, false | undefined | null>> => {
  const started = performance.now()
  for (;;) {
    const seen = await look()
    if (seen) return seen as Exclude<T, false | undefined | null>
    const waited = performance.now() - started
    if (waited > withinMs) throw new Error(`${what}: not within ${withinMs / 1000} seconds`)
    await pause(Math.max(everyMs, Math.min(waited * REST_SHARE, LONGEST_REST_MS)))
  }
}
