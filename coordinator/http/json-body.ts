import { ShoalError } from '../../shared/errors.ts'

/** Deeper JSON than any of our shapes needs; recursion over the value stays harmless. */
const MAX_DEPTH = 32

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d

/** Deepest nesting of arrays and objects; looks at bytes only, so that a bomb is not parsed. */
export const jsonDepth = (bytes: Uint8Array): number => {
  let depth = 0
  let deepest = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) at = endOfString(bytes, at)
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) deepest = Math.max(deepest, ++depth)
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth--
  }
  return deepest
}

/** Index of the closing quote of the string that opens at `start`. */
const endOfString = (bytes: Uint8Array, start: number): number => {
  let at = start + 1
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
  return at
}

const decoder = new TextDecoder('utf-8', { fatal: true })

/** The value of a JSON body; an empty one is `{}`. Throws invalid_request. */
export const parseJsonBody = (bytes: Buffer): unknown => {
  if (bytes.length === 0) return {}
  if (jsonDepth(bytes) > MAX_DEPTH)
    throw new ShoalError('invalid_request', `the body is nested deeper than ${MAX_DEPTH} levels`)
  try {
    return withoutProto(JSON.parse(decoder.decode(bytes)))
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

const position = (message: string): string =>
  /at position \d+/.exec(message)?.[0] ?? 'it ends too early'

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
