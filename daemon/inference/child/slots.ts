export interface SlotView {
  /** Number from 0; also the engine's sequence id. */
  id: number
  busy: boolean
  /** Tokens in the slot's cache. */
  tokens: readonly number[]
}

/**
 * A slot that is not the lowest free one is taken only if its cache saves at least so many tokens
 * more: a gap between busy slots costs every later step, a few prompt tokens only one.
 */
const WORTHWHILE_PREFIX_TOKENS = 64

/** The slot for a prompt: the lowest free id, or the one with a clearly longer common prefix. */
export const pickSlot = <Slot extends SlotView>(
  slots: readonly Slot[],
  prompt: readonly number[],
): { slot: Slot; prefix: number } | undefined => {
  const [lowest, ...others] = slots
    .filter(slot => !slot.busy)
    .sort((a, b) => a.id - b.id)
    .map(slot => ({ slot, prefix: commonPrefix(slot.tokens, prompt) }))
  if (lowest === undefined) return undefined
  const longest = others.reduce((best, next) => (next.prefix > best.prefix ? next : best), lowest)
  return longest.prefix - lowest.prefix >= WORTHWHILE_PREFIX_TOKENS ? longest : lowest
}

const commonPrefix = (a: readonly number[], b: readonly number[]): number => {
  const end = Math.min(a.length, b.length)
  let length = 0
  while (length < end && a[length] === b[length]) length++
  return length
}
