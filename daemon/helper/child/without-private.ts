const MAX_DEPTH = 16
const MAX_TEXT_LENGTH = 8192
/** User and password in an address: `https://user:word@host`. */
const CREDENTIALS = /(\b[a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/@]{1,500}@/gi

/** The answer without the fields of these names, and without the credentials of addresses. */
export const withoutPrivate = (told: unknown, removed: readonly string[], depth = 0): unknown => {
  if (typeof told === 'string') return told.slice(0, MAX_TEXT_LENGTH).replace(CREDENTIALS, '$1')
  if (typeof told !== 'object' || told === null) return told
  if (depth === MAX_DEPTH) return null
  if (Array.isArray(told)) return told.map(each => withoutPrivate(each, removed, depth + 1))
  return Object.fromEntries(
    Object.entries(told)
      .filter(([name]) => !removed.includes(name))
      .map(([name, value]) => [name, withoutPrivate(value, removed, depth + 1)]),
  )
}
