import type { StateBody } from '../../../shared/wire/envelope.ts'

/** State that the cell last reported; `lost` is its last will, `stopped` the last word of a clean stop. */
export type DeclaredState = StateBody['state']

/**
 * Presence of a cell. `unknown` until the cell has proven itself since the coordinator started;
 * `degraded` is ready with an engine that failed; `stopped` is a cell that was shut down cleanly.
 */
export type Presence = (typeof PRESENCES)[number]

export const PRESENCES = [
  'unknown',
  'ready',
  'degraded',
  'draining',
  'suspect',
  'stopped',
  'dead',
] as const

export interface PresenceLimits {
  /** Silence after which a cell is taken out of routing. */
  suspectAfterMs: number
  /** Silence after which a cell counts as dead. */
  deadAfterMs: number
}

/** Inputs from which presence is derived. */
interface PresenceInputs {
  declared: DeclaredState | undefined
  /** Time since the last packet of any kind. */
  silentMs: number
  /** True when the operator wants no new requests on the cell. */
  drained: boolean
  /** True when at least one engine of the cell has failed, other than for its weights. */
  failing: boolean
  /** False for an older daemon, whose last word at a clean stop is `draining`. */
  saysStop?: boolean
}

export const presenceOf = (
  { declared, silentMs, drained, failing, saysStop = false }: PresenceInputs,
  { suspectAfterMs, deadAfterMs }: PresenceLimits,
): Presence => {
  if (declared === undefined) return 'unknown'
  if (declared === 'stopped') return 'stopped'
  if (declared === 'lost') return 'dead'
  // had an older daemon crashed since it drained, its will would be here
  if (silentMs > deadAfterMs) return declared === 'draining' && !saysStop ? 'stopped' : 'dead'
  if (silentMs > suspectAfterMs) return 'suspect'
  if (declared === 'draining' || drained) return 'draining'
  return failing ? 'degraded' : 'ready'
}

/** True when the cell's control connection is alive, even if the cell accepts no requests. */
export const isPresent = (presence: Presence): boolean =>
  presence === 'ready' || presence === 'degraded' || presence === 'draining'

/** True when the cell is known to be away, after a clean stop or without a word. */
export const isGone = (presence: Presence): boolean => presence === 'stopped' || presence === 'dead'

/** True when new requests may be sent to the cell. */
export const takesRequests = (presence: Presence): boolean =>
  presence === 'ready' || presence === 'degraded'
