import { createSchemaError } from './faults.ts'
import type { Keywords } from './keywords.ts'

const JSON_TYPES = ['string', 'number', 'integer', 'boolean', 'null', 'object', 'array'] as const
export type JsonType = (typeof JSON_TYPES)[number]

export const typesOf = (at: Keywords): readonly JsonType[] | undefined => {
  const given = at.take('type', 'any')
  if (given === undefined) return undefined
  const types = Array.isArray(given) ? [...new Set(given)] : [given]
  const isType = (type: unknown): type is JsonType => JSON_TYPES.includes(type as JsonType)
  if (types.length > 0 && types.every(isType)) return types
  throw createSchemaError(at.place('type'), 'is not a JSON type')
}

/** Many schemas leave the type out where it is plain. */
export const inferTypes = (at: Keywords): readonly JsonType[] | undefined => {
  if (at.has('properties') || at.has('additionalProperties')) return ['object']
  return at.has('items') || at.has('prefixItems') ? ['array'] : undefined
}

export const isOfType = (value: unknown, type: JsonType): boolean => {
  if (type === 'integer') return Number.isInteger(value)
  if (type === 'null') return value === null
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value)
  return typeof value === type
}
