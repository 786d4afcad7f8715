/** A map that holds at most `capacity` entries: the one that was not used for longest goes. */
export class Lru<K, V> {
  readonly #capacity: number
  readonly #entries = new Map<K, V>()

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: K): V | undefined {
    const value = this.#entries.get(key)
    if (value === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, value)
    return value
  }

  /** Answers what had to go for it. */
  set(key: K, value: V): V | undefined {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size <= this.#capacity) return undefined
    const [oldest] = this.#entries
    if (oldest === undefined) return undefined
    this.#entries.delete(oldest[0])
    return oldest[1]
  }

  values(): V[] {
    return [...this.#entries.values()]
  }

  delete(key: K): void {
    this.#entries.delete(key)
  }

  clear(): void {
    this.#entries.clear()
  }
}
