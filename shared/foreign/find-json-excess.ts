const [QUOTE, COMMA, LIST, BACKSLASH, OBJECT] = [0x22, 0x2c, 0x5b, 0x5c, 0x7b]

/**
 * Most values of a JSON text. Their worst kind, objects with a key of their own each, fits into the
 * memory of the process.
 */
const MAX_VALUES = 1_000_000

/**
 * Describes the bound that JSON exceeds before it is parsed: JSON.parse cannot be stopped, and V8 ends
 * the process when one call needs far more memory than it may have.
 */
export const findJsonExcess = (bytes: Uint8Array): string | undefined => {
  let values = 1
  let isText = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) isText = !isText
    else if (isText) at += byte === BACKSLASH ? 1 : 0
    else if (byte === COMMA || byte === LIST || byte === OBJECT) values++
    if (values > MAX_VALUES) return `has more than ${MAX_VALUES} values before it is reduced`
  }
  return undefined
}
