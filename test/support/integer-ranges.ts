import fc from 'fast-check'
import { integerRange } from '../../daemon/inference/grammar/integer-range.ts'

/** Expression of a grammar for the integers of a range, as one of JavaScript. */
export const createRangePattern = (min: bigint | undefined, max: bigint | undefined): RegExp => {
  const expression = integerRange({ min, max }, count => `[0-9]{${count}}`)
  return new RegExp(`^(?:${expression.replace(/[" ]/g, '')})$`)
}

const size = fc.bigInt({ min: 0n, max: 40n }).map(digits => 10n ** digits)
const integer = fc
  .tuple(size, fc.bigInt({ min: -30n, max: 30n }), fc.constantFrom(-1n, 1n))
  .map(([power, near, sign]) => sign * power + near)
const range = fc.tuple(integer, fc.oneof(integer, fc.bigInt({ min: -300n, max: 300n })))
const other = fc.oneof(integer, fc.bigInt({ min: -400n, max: 400n }))

/** The expression of any range accepts exactly the integers in it. */
export const acceptsItsRange = fc.property(
  range,
  fc.array(other),
  fc.bigInt({ min: -2n, max: 2n }),
  (bounds, others, near) => {
    const [min, max] = bounds.toSorted((a, b) => (a < b ? -1 : 1)) as [bigint, bigint]
    const pattern = createRangePattern(min, max)
    return [...others, min + near, max + near].every(
      value => pattern.test(`${value}`) === (value >= min && value <= max),
    )
  },
)
