/** Pause before restart n (from 0) of something that failed: 1 s, 2 s, 4 s … at most one minute. */
export const backoffMs = (restart: number): number => Math.min(60_000, 1000 * 2 ** restart)

/**
 * Number of tries, about half a minute in total, during which a coordinator is assumed to be
 * restarting.
 */
const PATIENT_TRIES = 12

/**
 * Pause before try n (from 0) to reach the coordinator: 0.25 s, 0.5 s … 4 s for a while, then 10 s.
 * Each is shortened by up to half, so that a fleet does not come back in one instant.
 */
export const reconnectMs = (attempt: number, random: () => number = Math.random): number => {
  const longest = attempt < PATIENT_TRIES ? Math.min(4000, 250 * 2 ** attempt) : 10_000
  return longest * (1 - random() / 2)
}

/**
 * Pause before try n (from 0) to meet another coordinator behind the same URL, while one is
 * connected: 0.25 s and a quarter more each time, up to 10 s. Three of them behind a balancer are
 * met within about a second; from the seventh try on it is one dial a second and fewer. Each pause
 * varies by half, so that the two planes of a cell do not take turns at a round-robin balancer.
 */
export const seekMs = (attempt: number, random: () => number = Math.random): number =>
  Math.min(10_000, 250 * 1.25 ** attempt) * (0.5 + random())
