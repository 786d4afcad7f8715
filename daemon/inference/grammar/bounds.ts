import { createSchemaError, createUnsupportedError } from './faults.ts'
import type { IntegerBounds } from './integer-range.ts'
import type { Keywords } from './keywords.ts'

/** The least that a number may be. @throws ShoalError unsupported_parameter for any other bound */
export const leastNumber = (at: Keywords): 'any' | 'zero' => {
  for (const name of ['exclusiveMinimum', 'maximum', 'exclusiveMaximum'])
    if (at.take(name, 'number') !== undefined)
      throw createUnsupportedError(at.place(name), 'is supported for integers only')
  const minimum = at.take('minimum', 'number')
  if (minimum === undefined) return 'any'
  if (minimum === 0) return 'zero'
  throw createUnsupportedError(
    at.place('minimum'),
    'must be 0; other values are supported for integers only',
  )
}

/** @throws ShoalError invalid_request when they leave no integer */
export const integerBounds = (at: Keywords): IntegerBounds => {
  const min = largest([
    takeIntegerBound(at, 'minimum', Math.ceil),
    takeIntegerBound(at, 'exclusiveMinimum', Math.floor, 1n),
  ])
  const max = smallest([
    takeIntegerBound(at, 'maximum', Math.floor),
    takeIntegerBound(at, 'exclusiveMaximum', Math.ceil, -1n),
  ])
  if (min !== undefined && max !== undefined && min > max)
    throw createSchemaError(
      at.place(at.has('maximum') ? 'maximum' : 'exclusiveMaximum'),
      'leaves no integer',
    )
  return { min, max }
}

const takeIntegerBound = (
  at: Keywords,
  name: string,
  round: (value: number) => number,
  step = 0n,
): bigint | undefined => {
  const bound = at.take(name, 'number')
  if (bound === undefined) return undefined
  if (!Number.isFinite(bound)) throw createSchemaError(at.place(name), 'is too large a number')
  return BigInt(round(bound)) + step
}

type Bounds = readonly (bigint | undefined)[]

const largest = (bounds: Bounds): bigint | undefined =>
  bounds.reduce((a, b) => (a === undefined || (b !== undefined && b > a) ? b : a), undefined)

const smallest = (bounds: Bounds): bigint | undefined =>
  bounds.reduce((a, b) => (a === undefined || (b !== undefined && b < a) ? b : a), undefined)
