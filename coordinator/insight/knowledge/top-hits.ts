interface Hit {
  id: string
  score: number
}

/** The best hits so far; of equal ones those that were added first. */
export class TopHits {
  readonly #limit: number
  readonly #hits: Hit[] = []

  constructor(limit: number) {
    this.#limit = limit
  }

  /** True when a hit with this score would be among the best. */
  isBetter(score: number): boolean {
    return this.#hits.length < this.#limit || score > (this.#hits.at(-1)?.score ?? 0)
  }

  add(id: string, score: number): void {
    let [low, high] = [0, this.#hits.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#hits[middle] as Hit).score >= score) low = middle + 1
      else high = middle
    }
    this.#hits.splice(low, 0, { id, score })
    if (this.#hits.length > this.#limit) this.#hits.pop()
  }

  /** Best hits first, with scores relative to the best one. */
  relative(): Hit[] {
    const best = this.#hits[0]?.score ?? 1
    return this.#hits.map(({ id, score }) => ({ id, score: score / best }))
  }
}
