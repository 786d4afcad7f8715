/**
 * Characters to escape: control characters, invisible ones, those that change the direction of text
 * (Unicode has a property for most; U+2800 is a blank outside it), and blanks other than space.
 */
const HIDDEN = /(?! )[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu

/**
 * Characters to escape in running text, where line ends, tabs, blanks and the joiners of scripts
 * and emoji may stay.
 */
const STEERING = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/**
 * Makes text safe to show: characters that are invisible, move a terminal's cursor, or disguise
 * other text are written as their code point (`\u{202e}`). Text in canonical JSON stays
 * unambiguous, because a literal backslash is doubled there.
 */
export const escapeHidden = (text: string): string => text.replace(HIDDEN, escapeCodePoint)

export const hasHidden = (text: string): boolean => text.search(HIDDEN) >= 0

/** Makes the text of a model safe to show, keeping its lines and emoji. */
export const escapeHiddenInText = (text: string): string => text.replace(STEERING, escapeCodePoint)

/** Makes the strings in JSON text safe to show; the JSON value stays the same. */
export const escapeHiddenInJson = (json: string): string =>
  json.replace(HIDDEN, char => (char === '\n' ? char : escapeCodeUnits(char)))

/** Escapes a character as RFC 8259, section 7, does. */
const escapeCodeUnits = (char: string): string =>
  Array.from({ length: char.length }, (_, at) => char.charCodeAt(at))
    .map(unit => `\\u${unit.toString(16).padStart(4, '0')}`)
    .join('')

const escapeCodePoint = (char: string): string => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`
