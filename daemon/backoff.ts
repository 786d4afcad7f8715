import { backOffMs, HALF_JITTER } from '../shared/back-off.ts'

/** Pause before restart n (from 0) of something that failed: 1 s, 2 s, 4 s … at most one minute. */
export const restartMs = (restart: number): number =>
  backOffMs({ firstMs: 1000, maxMs: 60_000 }, restart)

/**
 * Number of tries, about half a minute in total, during which a coordinator is assumed to be
 * restarting.
 */
const PATIENT_TRIES = 12

/**
 * Pause before try n (from 0) to reach the coordinator: 0.25 s, 0.5 s … 4 s for a while, then 10 s.
 * Each is shortened by up to half, so that a fleet does not come back in one instant.
 */
export const reconnectMs = (attempt: number, random?: () => number): number => {
  const isEarly = attempt < PATIENT_TRIES
  const steps = isEarly ? { firstMs: 250, maxMs: 4000 } : { firstMs: 10_000, maxMs: 10_000 }
  return backOffMs({ ...steps, jitter: HALF_JITTER }, attempt, random)
}

/**
 * Pause before try n (from 0) to meet another coordinator behind the same URL, while one is
 * connected: 0.25 s and a quarter more each time, up to 10 s. Three of them behind a balancer are
 * met within about a second; from the seventh try on it is one dial a second and fewer. Each pause
 * varies by half, so that the two planes of a cell do not take turns at a round-robin balancer.
 */
export const seekMs = (attempt: number, random?: () => number): number =>
  backOffMs({ firstMs: 250, factor: 1.25, maxMs: 10_000, jitter: [0.5, 1.5] }, attempt, random)
