/**
 * Control characters, those that show nothing or turn the direction of what follows (Unicode has a
 * property for most; U+2800 is a blank that it does not count), and blanks that are no space.
 */
const HIDDEN = /(?! )[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu

/**
 * Text as an approver may be shown it: what cannot be seen, or makes other text look different, is
 * written as its code point (`\u{202e}`).
 */
export const visible = (text: string): string =>
  text.replace(HIDDEN, char => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`)

/** The same for every text in a value, names included. */
export const visibleDeep = (value: unknown): unknown => {
  if (typeof value === 'string') return visible(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(visibleDeep)
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [visible(name), visibleDeep(member)]),
  )
}
