/** Format of a JSON pointer (RFC 6901): `/sensor/0/value`; empty for the whole value. */
export const POINTER = /^(\/([^~/]|~[01])*)*$/

/** Value at a pointer; undefined when there is none. */
export const readPointer = (value: unknown, pointer: string): unknown => {
  let at = value
  for (const part of pointer.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined
    at = (at as Record<string, unknown>)[name]
  }
  return at
}
