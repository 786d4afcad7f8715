/** Most attributes of a TXT record that are read. */
const MAX_ATTRIBUTES = 64
/** Printable ASCII (RFC 6763, 6.4). */
const KEY = /^[ -<>-~]{1,64}$/
const MAX_VALUE = 512

/**
 * Attributes of a TXT record (RFC 6763, 6.3 and 6.4): the first of several with one key counts, keys
 * compare without case and are returned in lower case, one without `=` has the value null.
 */
export const readTxt = (strings: readonly Buffer[]): Map<string, string | null> => {
  const found = new Map<string, string | null>()
  for (const bytes of strings.slice(0, MAX_ATTRIBUTES)) {
    const text = bytes.toString()
    const at = text.indexOf('=')
    const key = (at === -1 ? text : text.slice(0, at)).toLowerCase()
    if (!KEY.test(key) || key === '__proto__' || found.has(key)) continue
    found.set(key, at === -1 ? null : cleanText(text.slice(at + 1)).slice(0, MAX_VALUE))
  }
  return found
}

/** Text of the network without control characters, which terminals and logs would obey. */
export const cleanText = (text: string): string => text.replace(/\p{Cc}/gu, '�')
