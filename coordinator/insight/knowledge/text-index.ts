import SearchableMap from 'minisearch/SearchableMap'
import type { GraphNode } from './graph-model.ts'
import { FIELDS, readTerms, scoreTerm, splitTerms, type Term } from './text-terms.ts'
import { TopHits } from './top-hits.ts'

interface TextHit {
  id: string
  /** Score relative to the best hit, above 0 and at most 1. */
  score: number
}

type Document = Pick<GraphNode, 'id' | 'name' | 'text'>

/** Weight of a word that a word of the query begins, and of one with other letters. */
const PREFIX_WEIGHT = 0.375
const FUZZY_WEIGHT = 0.45
/** Part of the letters that may differ in a fuzzy search, and the most letters. */
const FUZZY_PART = 0.2
const MOST_FUZZY = 6

/**
 * Plain text search over names, ids and texts of nodes (BM25+, with prefixes), by the formula of
 * MiniSearch and on its radix tree. Scores are numbers in an array and only the best hits become
 * objects, so that a word which every node has takes a few milliseconds.
 */
export class TextIndex {
  readonly #terms = new SearchableMap<Term>()
  readonly #numbers = new Map<string, number>()
  readonly #documents: (Document | undefined)[] = []
  /** Numbers of removed documents. */
  readonly #free: number[] = []
  /** Different words of each field, by document, and over all documents. */
  readonly #lengths: number[][] = FIELDS.map(() => [])
  readonly #totals: number[] = FIELDS.map(() => 0)

  put({ id, name, text }: GraphNode): void {
    const known = this.#documents[this.#numbers.get(id) ?? -1]
    if (known !== undefined && known.name === name && known.text === text) return
    this.remove(id)
    const number = this.#free.pop() ?? this.#documents.length
    const document = { id, name, text }
    this.#numbers.set(id, number)
    this.#documents[number] = document
    for (const [field, counts] of readTerms(document).entries()) {
      this.#setLength(field, number, counts.size)
      for (const [word, count] of counts) {
        const term = this.#terms.fetch(word, () => FIELDS.map(() => undefined))
        term[field] ??= new Map()
        term[field].set(number, count)
      }
    }
  }

  remove(id: string): void {
    const number = this.#numbers.get(id)
    if (number === undefined) return
    const document = this.#documents[number] as Document
    for (const [field, counts] of readTerms(document).entries()) {
      this.#setLength(field, number, 0)
      for (const word of counts.keys()) {
        const term = this.#terms.get(word)
        term?.[field]?.delete(number)
        if (term?.every(counts => (counts?.size ?? 0) === 0)) this.#terms.delete(word)
      }
    }
    this.#numbers.delete(id)
    this.#documents[number] = undefined
    this.#free.push(number)
  }

  #setLength(field: number, number: number, length: number): void {
    const lengths = this.#lengths[field] as number[]
    this.#totals[field] = (this.#totals[field] as number) - (lengths[number] ?? 0) + length
    lengths[number] = length
  }

  /** Best hits first: by whole words and prefixes, else by words with one or two letters changed. */
  find(query: string, limit: number, accepts: (id: string) => boolean = () => true): TextHit[] {
    const exact = this.#search(query, (word, add) => this.#addPrefixes(word, add))
    const found = this.#takeBest(exact, limit, accepts)
    if (found.length > 0) return found
    const fuzzy = this.#search(query, (word, add) => this.#addFuzzy(word, add))
    return this.#takeBest(fuzzy, limit, accepts)
  }

  #takeBest(scores: Float64Array, limit: number, accepts: (id: string) => boolean): TextHit[] {
    const hits = new TopHits(limit)
    for (let number = 0; number < scores.length; number++) {
      const score = scores[number] as number
      if (score <= 0 || !hits.isBetter(score)) continue
      const { id } = this.#documents[number] as Document
      if (accepts(id)) hits.add(id, score)
    }
    return hits.relative()
  }

  /** Scores by document number. A document counts as often as it has words of the query. */
  #search(query: string, addMore: (word: string, add: AddTerm) => void): Float64Array {
    const scores = new Float64Array(this.#documents.length)
    const matches = new Uint16Array(this.#documents.length)
    const seen = new Uint8Array(this.#documents.length)
    const words = splitTerms(query)
    for (const [at, word] of words.entries()) {
      const isFirst = words.indexOf(word) === at
      seen.fill(0)
      const add: AddTerm = (term, weight) =>
        scoreTerm(term, this.#facts(), (number, score) => {
          scores[number] = (scores[number] as number) + weight * score
          if (!isFirst || seen[number] === 1) return
          seen[number] = 1
          matches[number] = (matches[number] as number) + 1
        })
      const term = this.#terms.get(word)
      if (term !== undefined) add(term, 1)
      addMore(word, add)
    }
    return scores.map((score, number) => score * (matches[number] as number))
  }

  #facts() {
    return { documents: this.#numbers.size, lengths: this.#lengths, totals: this.#totals }
  }

  #addPrefixes(word: string, add: AddTerm): void {
    if (word.length <= 2) return
    for (const [longer, term] of this.#terms.atPrefix(word)) {
      const distance = longer.length - word.length
      if (distance > 0)
        add(term, (PREFIX_WEIGHT * longer.length) / (longer.length + 0.3 * distance))
    }
  }

  #addFuzzy(word: string, add: AddTerm): void {
    const most = Math.min(MOST_FUZZY, Math.round(word.length * FUZZY_PART))
    if (most === 0) return
    for (const [other, [term, distance]] of this.#terms.fuzzyGet(word, most))
      if (distance > 0) add(term, (FUZZY_WEIGHT * other.length) / (other.length + distance))
  }
}

type AddTerm = (term: Term, weight: number) => void
