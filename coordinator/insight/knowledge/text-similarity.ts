import { splitWords } from '../../kernel/base/split-words.ts'

/** Counts of three-letter pieces of a text, each word between blanks, and their norm. */
export interface TextProfile {
  counts: ReadonlyMap<string, number>
  norm: number
}

export const profileText = (text: string): TextProfile => {
  const profile = new Map<string, number>()
  for (const word of splitWords(text)) {
    const padded = ` ${word} `
    for (let at = 0; at + 3 <= padded.length; at++) {
      const piece = padded.slice(at, at + 3)
      profile.set(piece, (profile.get(piece) ?? 0) + 1)
    }
  }
  const squares = [...profile.values()].reduce((sum, count) => sum + count * count, 0)
  return { counts: profile, norm: Math.sqrt(squares) }
}

/** Cosine of two profiles, from 0 to 1. */
export const compareProfiles = (a: TextProfile, b: TextProfile): number => {
  let dot = 0
  for (const [piece, count] of a.counts) dot += count * (b.counts.get(piece) ?? 0)
  const norms = a.norm * b.norm
  return norms === 0 ? 0 : dot / norms
}

/** Cosine of two vectors of one length, from -1 to 1. */
export const compareVectors = (a: readonly number[], b: readonly number[]): number => {
  let [dot, squaredA, squaredB] = [0, 0, 0]
  for (let at = 0; at < a.length; at++) {
    const [one, other] = [a[at] as number, b[at] as number]
    dot += one * other
    squaredA += one * one
    squaredB += other * other
  }
  return squaredA * squaredB === 0 ? 0 : dot / Math.sqrt(squaredA * squaredB)
}

/** Words that say nothing about a subject. */
const FUNCTION_WORDS = new Set(
  'all and any are but can each for from has have its may not one such than that the their this was which with without'.split(
    ' ',
  ),
)

/** Words of at least three letters that both texts contain, without function words. */
export const listSharedWords = (a: string, b: string): string[] => {
  const other = new Set(splitWords(b))
  return [...new Set(splitWords(a))].filter(
    word => word.length > 2 && !FUNCTION_WORDS.has(word) && other.has(word),
  )
}
