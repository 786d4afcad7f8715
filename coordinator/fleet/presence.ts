/** What a cell said of itself last; `lost` is its last will. */
export type Declared = 'ready' | 'draining' | 'lost'

/** `unknown` until the cell has proven itself since the coordinator started. */
export type Presence = 'unknown' | 'ready' | 'draining' | 'suspect' | 'dead'

export interface PresenceLimits {
  /** Silence after which a cell is taken out of routing. */
  suspectAfterMs: number
  /** Silence after which it counts as dead. */
  deadAfterMs: number
}

/** Presence follows from the last word and the silence since the last packet; any packet ends it. */
export const presenceOf = (
  declared: Declared | undefined,
  silentMs: number,
  { suspectAfterMs, deadAfterMs }: PresenceLimits,
): Presence => {
  if (declared === undefined) return 'unknown'
  if (declared === 'lost' || silentMs > deadAfterMs) return 'dead'
  return silentMs > suspectAfterMs ? 'suspect' : declared
}
