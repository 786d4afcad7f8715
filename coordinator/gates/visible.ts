/** Control characters, and those that show nothing or turn the direction of what follows. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]/gu

/**
 * Text as an approver may be shown it: what cannot be seen, or makes other text look different, is
 * written as its code point (`\u{202e}`).
 */
export const visible = (text: string): string =>
  text.replace(HIDDEN, char => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`)
