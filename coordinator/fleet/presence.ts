/** What a cell said of itself last; `lost` is its last will. */
export type Declared = 'ready' | 'draining' | 'lost'

/**
 * `unknown` until the cell has proven itself since the coordinator started; `degraded` is ready
 * with an engine that failed.
 */
export type Presence = 'unknown' | 'ready' | 'degraded' | 'draining' | 'suspect' | 'dead'

export interface PresenceLimits {
  /** Silence after which a cell is taken out of routing. */
  suspectAfterMs: number
  /** Silence after which it counts as dead. */
  deadAfterMs: number
}

/** Everything presence follows from. */
export interface Signs {
  declared: Declared | undefined
  /** Since the last packet; any packet ends it. */
  silentMs: number
  /** The operator wants no new requests on it. */
  drained: boolean
  /** At least one of its engines has failed. */
  failing: boolean
}

export const presenceOf = (
  { declared, silentMs, drained, failing }: Signs,
  { suspectAfterMs, deadAfterMs }: PresenceLimits,
): Presence => {
  if (declared === undefined) return 'unknown'
  if (declared === 'lost' || silentMs > deadAfterMs) return 'dead'
  if (silentMs > suspectAfterMs) return 'suspect'
  if (declared === 'draining' || drained) return 'draining'
  return failing ? 'degraded' : 'ready'
}

/** Its control connection is alive: it is up, whether or not it takes requests. */
export const isPresent = (presence: Presence): boolean =>
  presence === 'ready' || presence === 'degraded' || presence === 'draining'

/** New requests may be sent to it. */
export const takesRequests = (presence: Presence): boolean =>
  presence === 'ready' || presence === 'degraded'
