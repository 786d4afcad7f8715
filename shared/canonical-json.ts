/**
 * JSON with sorted keys and no white space, so that equal values have equal bytes and one digest
 * (the form of RFC 8785, JSON Canonicalization Scheme). Members that are `undefined` are left out.
 * Throws TypeError for values that JSON cannot hold: NaN, infinities, functions, symbols, big
 * integers, class instances, and text with lone surrogates.
 */
export const canonicalJson = (value: unknown): string => {
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return text(value)
  if (typeof value === 'number') return number(value)
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value === 'object' && isPlain(value)) return members(value)
  throw new TypeError(`no canonical JSON for a value of type ${typeof value}`)
}

/** RFC 8785 section 3.2.3: members are sorted by the UTF-16 code units of their names. */
const members = (value: object): string => {
  const parts = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${text(name)}:${canonicalJson(member)}`)
  return `{${parts.join(',')}}`
}

const text = (value: string): string => {
  if (!value.isWellFormed()) throw new TypeError('no canonical JSON for a lone surrogate')
  return JSON.stringify(value)
}

const number = (value: number): string => {
  if (!Number.isFinite(value)) throw new TypeError(`no canonical JSON for ${value}`)
  return JSON.stringify(value)
}

const isPlain = (value: object): boolean => {
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
