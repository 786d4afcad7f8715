import type * as z from 'zod'

/** Depth limit; deeper values are unreadable for people. */
const MAX_DEPTH = 24

/**
 * Any JSON value, or one of the schema, of at most `maxBytes` bytes as text. JSON Schema cannot
 * express that: the limits are published as `x-max-bytes` and `x-max-depth`.
 */
export const limitJson = <T extends z.ZodType>(schema: T, maxBytes: number): T =>
  schema
    .refine(value => depthOf(value) <= MAX_DEPTH, `is nested deeper than ${MAX_DEPTH} levels`)
    .refine(value => bytesOf(value) <= maxBytes, `is larger than ${maxBytes} bytes`)
    .meta({ 'x-max-bytes': maxBytes, 'x-max-depth': MAX_DEPTH })

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '')

/** Looks no deeper than it has to. */
const depthOf = (value: unknown, left = MAX_DEPTH): number => {
  if (typeof value !== 'object' || value === null) return 0
  if (left === 0) return 1
  let deepest = 0
  for (const member of Object.values(value)) deepest = Math.max(deepest, depthOf(member, left - 1))
  return 1 + deepest
}
