type Piece = number | string

/** Tags of versions before the release, `1.0-rc1`; others, `9.8p1`, come after it. */
const BEFORE_RELEASE = /^(alpha|beta|a|b|c|rc|pre|preview|dev|snapshot|nightly)$/

/** Numbers and words of a version: `v2.0.14-rc1` is 2, 0, 14, rc, 1. */
const splitVersion = (version: string): Piece[] =>
  (
    version
      .toLowerCase()
      .replace(/^v(?=\d)/, '')
      .split('+')[0] ?? ''
  )
    .match(/\d+|[a-z]+/g)
    ?.map(piece => (/^\d/.test(piece) ? Number(piece) : piece)) ?? []

/**
 * Compares versions of any scheme: numbers by value, words by the alphabet, and a tag before the
 * release as less than none.
 * @returns below 0, 0 or above 0
 */
export const compareVersions = (a: string, b: string): number => {
  const [left, right] = [splitVersion(a), splitVersion(b)]
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const order = comparePieces(left[at], right[at])
    if (order !== 0) return order
  }
  return 0
}

const comparePieces = (a: Piece | undefined, b: Piece | undefined): number => {
  if (a === undefined || b === undefined)
    return a === b ? 0 : a === undefined ? -signOf(b) : signOf(a)
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (typeof a === 'string' && typeof b === 'string') return a < b ? -1 : a > b ? 1 : 0
  // a number goes on with the release, a word stands beside it
  return typeof a === 'number' ? -comparePieces(b, a) : signOf(a) < 0 ? -1 : isZero(b) ? 1 : -1
}

/** What a piece adds to the version before it: 0 adds nothing. */
const signOf = (piece: Piece | undefined): number => {
  if (piece === undefined || piece === 0) return 0
  return typeof piece === 'string' && BEFORE_RELEASE.test(piece) ? -1 : 1
}

const isZero = (piece: Piece | undefined): boolean => piece === 0
