import { ShoalError } from '../../../shared/errors.ts'

/** Deeper JSON than any of our shapes needs; recursion over the value stays harmless. */
const MAX_DEPTH = 32

/** A JSON Schema may be nested 32 deep, each level takes up to two of JSON, and it stands 5 deep. */
export const SCHEMA_DEPTH = 80

/** More items than the largest list of token ids has; each is looked at more than once. */
const MAX_COMMAS = 150_000

const COMMA = 0x2c
const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d

/**
 * Deepest nesting of arrays and objects, and the number of their items less one each; looks at
 * bytes only, so that a bomb is not parsed.
 */
export const jsonShape = (bytes: Uint8Array): { depth: number; commas: number } => {
  let depth = 0
  let deepest = 0
  let commas = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) at = endOfString(bytes, at)
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) deepest = Math.max(deepest, ++depth)
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth--
    else if (byte === COMMA) commas++
  }
  return { depth: deepest, commas }
}

/** Index of the closing quote of the string that opens at `start`. */
const endOfString = (bytes: Uint8Array, start: number): number => {
  let at = start + 1
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
  return at
}

const decoder = new TextDecoder('utf-8', { fatal: true })

/** The value of a JSON body; an empty one is `{}`. Throws invalid_request. */
export const parseJsonBody = (bytes: Buffer, maxDepth = MAX_DEPTH): unknown => {
  if (bytes.length === 0) return {}
  const { depth, commas } = jsonShape(bytes)
  if (depth > maxDepth)
    throw new ShoalError('invalid_request', `the body is nested deeper than ${maxDepth} levels`)
  if (commas > MAX_COMMAS)
    throw new ShoalError('invalid_request', `the body has more than ${MAX_COMMAS} items`)
  try {
    const value: unknown = JSON.parse(decoder.decode(bytes))
    return mayHoldProto(bytes) ? withoutProto(value) : value
  } catch (cause) {
    if (cause instanceof ShoalError) throw cause
    throw new ShoalError('invalid_request', `the body is not valid JSON: ${reasonOf(cause)}`, {
      cause,
    })
  }
}

/** The parser quotes a piece of the body; that does not belong into an answer or a log. */
const reasonOf = (cause: unknown): string =>
  cause instanceof TypeError ? 'it is not UTF-8' : position((cause as Error).message)

/**
 * Position from a parser message. For a short body the parser gives no position, but quotes it
 * whole.
 */
const position = (message: string): string => {
  if (message.startsWith('Unexpected end')) return 'it ends too early'
  return /at position \d+/.exec(message)?.[0] ?? 'it has an unexpected character'
}

/** The name may also be written with escapes. */
const mayHoldProto = (bytes: Buffer): boolean =>
  bytes.includes('__proto__') || bytes.includes('\\u00')

const withoutProto = (value: unknown): unknown => {
  if (typeof value === 'object' && value !== null) {
    if (Object.hasOwn(value, '__proto__'))
      throw new ShoalError('invalid_request', 'the body has a field __proto__', {
        param: '__proto__',
      })
    for (const item of Object.values(value)) withoutProto(item)
  }
  return value
}
