import type { GraphNode } from './graph-model.ts'

/** Fields that are searched, with the weight of a word in them. */
export const FIELDS = [
  { name: 'name', boost: 3 },
  { name: 'id', boost: 2 },
  { name: 'text', boost: 1 },
] as const

/** Occurrences of a term by document number, for each field; undefined for a field without the term. */
export type Term = (Map<number, number> | undefined)[]

/** Facts about all documents: number of them, and of different words in each field. */
interface Corpus {
  documents: number
  lengths: readonly (readonly number[])[]
  totals: readonly number[]
}

const SPACE_OR_PUNCTUATION = /[\n\r\p{Z}\p{P}]+/u

/** Terms of a text for the search, in lower case: what spaces and punctuation separate. */
export const splitTerms = (text: string): string[] =>
  text
    .split(SPACE_OR_PUNCTUATION)
    .filter(word => word !== '')
    .map(word => word.toLowerCase())

/** Words of each field with their numbers. */
export const readTerms = (
  document: Pick<GraphNode, 'id' | 'name' | 'text'>,
): Map<string, number>[] =>
  FIELDS.map(({ name }) => {
    const counts = new Map<string, number>()
    for (const word of splitTerms(document[name] ?? ''))
      counts.set(word, (counts.get(word) ?? 0) + 1)
    return counts
  })

/* Parameters of BM25+ (Lv and Zhai, Lower-Bounding Term Frequency Normalization, CIKM 2011). */
const K = 1.2
const B = 0.7
const D = 0.5

/** Calls back with the score of a word in each field of each document that has it. */
export const scoreTerm = (
  term: Term,
  { documents, lengths, totals }: Corpus,
  add: (number: number, score: number) => void,
): void => {
  for (const [field, { boost }] of FIELDS.entries()) {
    const counts = term[field]
    if (counts === undefined || counts.size === 0) continue
    const rarity = Math.log(1 + (documents - counts.size + 0.5) / (counts.size + 0.5))
    const mean = (totals[field] as number) / documents
    const ofField = lengths[field] as readonly number[]
    for (const [number, count] of counts) {
      const length = 1 - B + (B * (ofField[number] as number)) / mean
      add(number, boost * rarity * (D + (count * (K + 1)) / (count + K * length)))
    }
  }
}
