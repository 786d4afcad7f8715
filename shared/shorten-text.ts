/** Longest path of a parameter that an error repeats; the keys of a record are named by the client. */
export const MAX_PARAM_LENGTH = 128

/**
 * Cuts a text that is longer than a number of UTF-16 units, at whole characters, and marks the cut.
 * Errors repeat names that a client made up, and would otherwise be as long as its request.
 */
export const shortenText = (text: string, maxLength: number): string =>
  text.length <= maxLength
    ? text
    : `${text.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, '')}…`
