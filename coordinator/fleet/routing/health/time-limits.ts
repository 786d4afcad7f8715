import type { EngineHealth } from './engine-health.ts'

/** Facts of a request that decide how long a sound engine may take for it. */
interface Demand {
  requestBytes: number
  isStream: boolean
  /** Most tokens that the engine may generate for it. */
  mostTokens: number
  /** Requests per slot on the engine, this one included. */
  load: number
}

/** Factor by which an engine may exceed its own measured times before it counts as hanging. */
const GENEROUS = 4
/** Bounds of the wait for the first event of a stream. */
const LEAST_FIRST_BYTE_MS = 30_000
const MOST_FIRST_BYTE_MS = 300_000
/** Factor for an engine without measured times, by those of another engine for the model. */
const PEER_GENEROUS = 16
/** Limit where no engine for the model has served a stream, or a whole answer, since the start. */
const UNPROVEN_STREAM_MS = 120_000
const UNPROVEN_WHOLE_MS = 300_000
/** Time per byte of a prompt that is longer than any the engine has read: 50 tokens a second. */
const UNPROVEN_MS_PER_BYTE = 5
/**
 * Bounds of a silence within an answer. A sound engine is silent while it reads prompts of other
 * requests, and its daemon ends one that completes no step in 60 s.
 */
const LEAST_SILENCE_MS = 90_000
const MOST_SILENCE_MS = 120_000

/** Time for which a cell may take no byte of a request before the request moves to another. */
export const UNSENT_MS = 10_000
/** Limit of every wait, also for a model that is loading and for a client that does not read. */
export const MAX_WAIT_MS = 10 * 60_000

/**
 * Returns the time within which a sound engine begins its answer. A whole answer begins when all of
 * it is there, so its limit has the time to generate the most tokens that it may have.
 *
 * @param listPeers records of other engines for the model, asked where there is none of its own
 */
export const firstByteLimitMs = (
  health: EngineHealth | undefined,
  demand: Demand,
  listPeers: () => Iterable<EngineHealth> = () => [],
): number => {
  const { requestBytes, isStream } = demand
  const isProven = requestBytes <= (health?.longestPromptBytes ?? 0)
  const leastMs = Math.max(LEAST_FIRST_BYTE_MS, isProven ? 0 : requestBytes * UNPROVEN_MS_PER_BYTE)
  const mostMs = isStream ? MOST_FIRST_BYTE_MS : MAX_WAIT_MS
  const ownMs = health && expectMs(health, demand)
  if (ownMs !== undefined) return clamp(GENEROUS * ownMs, leastMs, mostMs)
  const unprovenMs = isStream ? UNPROVEN_STREAM_MS : UNPROVEN_WHOLE_MS
  for (const peer of listPeers()) {
    const peerMs = expectMs(peer, demand)
    if (peerMs !== undefined)
      return clamp(Math.min(PEER_GENEROUS * peerMs, unprovenMs), leastMs, mostMs)
  }
  return clamp(unprovenMs, leastMs, mostMs)
}

/** Returns the time that the engine's measured times predict; undefined without them. */
const expectMs = (health: EngineHealth, demand: Demand): number | undefined => {
  const { requestBytes, isStream, mostTokens, load } = demand
  const first = health.firstByteMs.upperBound
  const perToken = health.msPerToken.upperBound
  const start = (first ?? 0) + requestBytes * (health.mostMsPerPromptByte ?? 0)
  const begun = start + load * (health.serviceMs.mean ?? 0)
  if (isStream) return first === undefined ? undefined : begun
  return perToken === undefined ? undefined : begun + mostTokens * perToken
}

/** Returns the time for which a sound engine may say nothing within an answer. */
export const silenceLimitMs = (health: EngineHealth | undefined, load: number): number => {
  const perToken = health?.msPerToken.upperBound ?? 0
  return clamp(GENEROUS * perToken * Math.max(1, load), LEAST_SILENCE_MS, MOST_SILENCE_MS)
}

const clamp = (value: number, least: number, most: number): number =>
  Math.min(most, Math.max(least, value))
