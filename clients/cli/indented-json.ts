/** A string, a punctuation mark of JSON, or the text between them. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^"[\]{},:]+/gs
/** Width up to which a list or object stays on a single line. */
const LINE = 76
/** Deeper nesting is not moved further to the right. */
const MAX_INDENT = 32

/**
 * Formats JSON text without blanks over readable lines. Only white space is inserted; tokens stay
 * unchanged, even those that no parser accepts (`\u{202e}`). Text that is not JSON is returned
 * unchanged.
 */
export const indentJson = (json: string): string => {
  const tokens = json.match(TOKEN) ?? []
  if (tokens.join('') !== json) return json
  let depth = 0
  const line = (): string => `\n${'  '.repeat(Math.min(Math.max(depth, 0), MAX_INDENT))}`
  let text = ''
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at] ?? ''
    const end = isOpening(token) ? endOfShort(tokens, at) : undefined
    if (end !== undefined) {
      text += tokens.slice(at, end + 1).join('')
      at = end
    } else if (isOpening(token)) {
      depth++
      text += token + line()
    } else if (isClosing(token)) {
      depth--
      text += line() + token
    } else if (token === ',') text += token + line()
    else text += token === ':' ? ': ' : token
  }
  return text
}

const isOpening = (token: string): boolean => token === '{' || token === '['
const isClosing = (token: string): boolean => token === '}' || token === ']'

/**
 * Index of the token that closes the list or object opened at `start`; undefined when that is not
 * on the same line.
 */
const endOfShort = (tokens: readonly string[], start: number): number | undefined => {
  let open = 0
  let length = 0
  for (let at = start; at < tokens.length && length <= LINE; at++) {
    const token = tokens[at] ?? ''
    length += token.length
    if (isOpening(token)) open++
    if (isClosing(token)) open--
    if (open === 0) return length <= LINE ? at : undefined
  }
  return undefined
}
