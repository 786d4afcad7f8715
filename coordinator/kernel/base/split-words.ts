/** Splits a text into its words in lower case: runs of letters and digits of any script. */
export const splitWords = (text: string): string[] =>
  text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
