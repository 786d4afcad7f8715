/** Euros in whole cents, in which sums are exact. */
export const toCents = (euros: number): number => Math.round(euros * 100)

export const toEuros = (cents: number): number => Math.round(cents) / 100

/** `100 * part / whole` with one decimal; null where there is no whole. */
export const percentOf = (part: number, whole: number): number | null =>
  whole === 0 ? null : roundTo((100 * part) / whole, 1)

export const roundTo = (value: number, digits: number): number =>
  Math.round(value * 10 ** digits) / 10 ** digits
