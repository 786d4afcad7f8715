/** Most digits of an integer without a bound: JavaScript holds all of these exactly. */
const DIGITS = 15

/** An expression for so many digits; a rule of its own, since ranges share them. */
type Digits = (count: number) => string

/** Integers from `min` to `max`; where a bound is absent, as many digits as the other bound has. */
export interface IntegerBounds {
  min: bigint | undefined
  max: bigint | undefined
}

/**
 * An expression for exactly the integers within the bounds, in the form of JSON (RFC 8259, section
 * 6: no leading zeros), without `-0`. Each bound adds one way that an engine follows.
 */
export const integerRange = (bounds: IntegerBounds, digits: Digits): string => {
  const min = bounds.min ?? -largestBeside(bounds.max)
  const max = bounds.max ?? largestBeside(bounds.min)
  const parts: string[] = []
  if (min < 0n) parts.push(`"-" (${positiveRange(max < 0n ? -max : 1n, -min, digits)})`)
  if (min <= 0n && max >= 0n) parts.push('"0"')
  if (max > 0n) parts.push(positiveRange(min > 0n ? min : 1n, max, digits))
  return parts.join(' | ')
}

const largestBeside = (bound = 0n): bigint => {
  const { length } = String(bound < 0n ? -bound : bound)
  return 10n ** BigInt(Math.max(DIGITS, length)) - 1n
}

/** 1 <= least <= most: those with the digits of either bound, and all lengths between. */
const positiveRange = (least: bigint, most: bigint, digits: Digits): string => {
  const [low, high] = [String(least), String(most)]
  if (low.length === high.length) return equalLengthRange(low, high, digits)
  const isWholeLow = /^10*$/.test(low)
  const isWholeHigh = /^9*$/.test(high)
  const shortest = low.length - (isWholeLow ? 1 : 0)
  const longest = high.length - (isWholeHigh ? 0 : 1)
  const parts: string[] = []
  if (!isWholeLow) parts.push(equalLengthRange(low, '9'.repeat(low.length), digits))
  if (longest > shortest) parts.push(`[1-9] [0-9]{${shortest},${longest - 1}}`)
  if (!isWholeHigh) parts.push(equalLengthRange(`1${'0'.repeat(high.length - 1)}`, high, digits))
  return parts.join(' | ')
}

/** Texts of one length between two others; the first digit that differs tells them apart. */
const equalLengthRange = (low: string, high: string, digits: Digits): string => {
  const [first, last] = [Number(low[0]), Number(high[0])]
  const [lowRest, highRest] = [low.slice(1), high.slice(1)]
  if (lowRest === '') return digitRange(first, last)
  if (first === last) return `"${first}" (${equalLengthRange(lowRest, highRest, digits)})`
  const isOpenLow = /^0*$/.test(lowRest)
  const isOpenHigh = /^9*$/.test(highRest)
  const [from, to] = [isOpenLow ? first : first + 1, isOpenHigh ? last : last - 1]
  const parts: string[] = []
  const [nines, zeros] = ['9'.repeat(lowRest.length), '0'.repeat(lowRest.length)]
  if (!isOpenLow) parts.push(`"${first}" (${equalLengthRange(lowRest, nines, digits)})`)
  if (from <= to) parts.push(`${digitRange(from, to)} ${digits(lowRest.length)}`)
  if (!isOpenHigh) parts.push(`"${last}" (${equalLengthRange(zeros, highRest, digits)})`)
  return parts.join(' | ')
}

const digitRange = (first: number, last: number): string =>
  first === last ? `"${first}"` : `[${first}-${last}]`
