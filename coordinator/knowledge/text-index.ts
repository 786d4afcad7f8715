import MiniSearch from 'minisearch'
import type { GraphNode } from './graph-model.ts'

interface TextHit {
  id: string
  /** Score relative to the best hit, above 0 and at most 1. */
  score: number
}

/** Plain text search over names, ids and texts of nodes (BM25+, with prefixes). */
export class TextIndex {
  readonly #search = new MiniSearch<Pick<GraphNode, 'id' | 'name' | 'text'>>({
    fields: ['name', 'id', 'text'],
    searchOptions: { boost: { name: 3, id: 2 } },
    autoVacuum: { minDirtCount: 1000, minDirtFactor: 0.2, batchSize: 100, batchWait: 5 },
  })

  put({ id, name, text }: GraphNode): void {
    const document = { id, name, text }
    if (this.#search.has(id)) this.#search.replace(document)
    else this.#search.add(document)
  }

  remove(id: string): void {
    if (this.#search.has(id)) this.#search.discard(id)
  }

  /** Best hits first: by whole words and prefixes, else by words with one or two letters changed. */
  find(query: string, limit: number, accepts: (id: string) => boolean = () => true): TextHit[] {
    const filter = ({ id }: { id: unknown }) => accepts(String(id))
    const isPrefix = (term: string) => term.length > 2
    const exact = this.#search.search(query, { filter, prefix: isPrefix })
    const found = exact.length > 0 ? exact : this.#search.search(query, { filter, fuzzy: 0.2 })
    const best = found[0]?.score ?? 1
    return found.slice(0, limit).map(({ id, score }) => ({ id: String(id), score: score / best }))
  }
}
