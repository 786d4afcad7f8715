import { DesiredBody, isGenuineDesired } from '../../shared/wire/desired.ts'

export interface TrustContext {
  cellId: string
  /** Public keys of the coordinator that this cell has pinned. */
  trusted: readonly string[]
}

/**
 * Settings that were provably sent by the coordinator to this cell; undefined for others. A cell
 * without a pinned key trusts every publisher on its topics. Throws for a malformed body.
 */
export const genuineDesired = (
  body: unknown,
  { cellId, trusted }: TrustContext,
): DesiredBody | undefined => {
  const desired = DesiredBody.parse(body)
  if (trusted.length === 0) return desired
  return trusted.some(key => isGenuineDesired(desired, cellId, key)) ? desired : undefined
}

interface SettingsStanding {
  /** Highest version that this cell has ever trusted, also before a restart. */
  highest: number
  /** True when the settings answer a birth message that was still open. */
  isAnswer: boolean
  /**
   * True when the settings are in force, on trial or already rejected: they would change nothing.
   */
  isNothingNew: boolean
}

/**
 * True for genuine settings that are outdated. Versions grow over the whole fleet, so a change
 * always has a higher one. A lower one is legitimate when a tag was removed or the coordinator was
 * restored; it then answers a birth, and an answer cannot be a replay.
 */
export const isStale = (
  { version }: Pick<DesiredBody, 'version'>,
  { highest, isAnswer, isNothingNew }: SettingsStanding,
): boolean => !isAnswer && !isNothingNew && version <= highest
