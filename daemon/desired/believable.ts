import { Desired, isGenuineDesired } from '../../shared/wire/desired.ts'

export interface Believing {
  cellId: string
  /** Public keys of the coordinator that this cell has pinned. */
  trusted: readonly string[]
}

/**
 * Settings that the coordinator has surely sent to this cell; undefined for others. A cell that has
 * pinned no key believes whoever may publish on its topics. Throws for a body of another form.
 */
export const genuineDesired = (
  body: unknown,
  { cellId, trusted }: Believing,
): Desired | undefined => {
  const desired = Desired.parse(body)
  if (trusted.length === 0) return desired
  return trusted.some(key => isGenuineDesired(desired, cellId, key)) ? desired : undefined
}

export interface Standing {
  /** The highest version that this cell has ever believed, also before a restart. */
  highest: number
  /** It answers a birth that was open until now. */
  isAnswer: boolean
  /** It is what holds, is tried or was not taken: it would change nothing. */
  isNothingNew: boolean
}

/**
 * Whether genuine settings are of the past. Versions grow over the whole fleet, so a change always
 * has a higher one. A lower one is right when a tag was taken away or the coordinator was set back;
 * then it comes as the answer to a birth, which cannot have been kept from an earlier time.
 */
export const isStale = (
  { version }: Pick<Desired, 'version'>,
  { highest, isAnswer, isNothingNew }: Standing,
): boolean => !isAnswer && !isNothingNew && version <= highest
