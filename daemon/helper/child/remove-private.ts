const MAX_DEPTH = 16
const MAX_TEXT_LENGTH = 8192
/** User and password in a URL: `https://user:word@host`. */
const CREDENTIALS = /(\b[a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/@]{1,500}@/gi

/** Removes the named fields, and the credentials in URLs. */
export const removePrivate = (value: unknown, removed: readonly string[], depth = 0): unknown => {
  if (typeof value === 'string') return value.slice(0, MAX_TEXT_LENGTH).replace(CREDENTIALS, '$1')
  if (typeof value !== 'object' || value === null) return value
  if (depth === MAX_DEPTH) return null
  if (Array.isArray(value)) return value.map(each => removePrivate(each, removed, depth + 1))
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !removed.includes(name))
      .map(([name, field]) => [name, removePrivate(field, removed, depth + 1)]),
  )
}
