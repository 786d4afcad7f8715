/**
 * Control characters, those that show nothing or turn the direction of what follows (Unicode has a
 * property for most; U+2800 is a blank that it does not count), and blanks that are no space.
 */
const HIDDEN = /(?! )[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu

/** In running text, line ends, tabs, blanks and the joiners of scripts and emoji may stay. */
const STEERING = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/**
 * Text as a person may be shown it: what cannot be seen, moves the cursor of a terminal, or makes
 * other text look different, is written as its code point (`\u{202e}`). Text in canonical JSON
 * stays unambiguous: there a backslash of its own is written twice.
 */
export const visible = (text: string): string => text.replace(HIDDEN, codePoint)

/** The same for the words of a model, which have lines and emoji. */
export const visibleText = (text: string): string => text.replace(STEERING, codePoint)

/** JSON text whose strings hide nothing either; what it says stays the same. */
export const visibleJson = (json: string): string =>
  json.replace(HIDDEN, char => (char === '\n' ? char : codeUnits(char)))

/** As RFC 8259, section 7, writes what is not to be written as it is. */
const codeUnits = (char: string): string =>
  Array.from({ length: char.length }, (_, at) => char.charCodeAt(at))
    .map(unit => `\\u${unit.toString(16).padStart(4, '0')}`)
    .join('')

const codePoint = (char: string): string => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`
