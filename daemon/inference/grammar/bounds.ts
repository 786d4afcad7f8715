import { invalid, unserved } from './faults.ts'
import type { IntegerBounds } from './integer-range.ts'
import type { Keywords } from './keywords.ts'

/** The least that a number may be. @throws ShoalError unsupported_parameter for any other bound */
export const leastNumber = (at: Keywords): 'any' | 'zero' => {
  for (const name of ['exclusiveMinimum', 'maximum', 'exclusiveMaximum'])
    if (at.take(name, 'number') !== undefined)
      throw unserved(at.place(name), 'is served for integers only')
  const minimum = at.take('minimum', 'number')
  if (minimum === undefined) return 'any'
  if (minimum === 0) return 'zero'
  throw unserved(at.place('minimum'), 'is served for 0 only, and for integers')
}

/** @throws ShoalError invalid_request when they leave no integer */
export const integerBounds = (at: Keywords): IntegerBounds => {
  const min = largest([
    wholeBound(at, 'minimum', Math.ceil),
    wholeBound(at, 'exclusiveMinimum', Math.floor, 1n),
  ])
  const max = smallest([
    wholeBound(at, 'maximum', Math.floor),
    wholeBound(at, 'exclusiveMaximum', Math.ceil, -1n),
  ])
  if (min !== undefined && max !== undefined && min > max)
    throw invalid(at.place(at.has('maximum') ? 'maximum' : 'exclusiveMaximum'), 'leaves no integer')
  return { min, max }
}

const wholeBound = (
  at: Keywords,
  name: string,
  round: (value: number) => number,
  step = 0n,
): bigint | undefined => {
  const bound = at.take(name, 'number')
  if (bound === undefined) return undefined
  if (!Number.isFinite(bound)) throw invalid(at.place(name), 'is too large a number')
  return BigInt(round(bound)) + step
}

type Bounds = readonly (bigint | undefined)[]

const largest = (bounds: Bounds): bigint | undefined =>
  bounds.reduce((a, b) => (a === undefined || (b !== undefined && b > a) ? b : a), undefined)

const smallest = (bounds: Bounds): bigint | undefined =>
  bounds.reduce((a, b) => (a === undefined || (b !== undefined && b < a) ? b : a), undefined)
