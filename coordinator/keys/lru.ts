interface Entry<K, V> {
  key: K
  value: V
  /** Towards those that were used later. */
  newer: Entry<K, V> | undefined
  /** Towards those that were not used for longer. */
  older: Entry<K, V> | undefined
}

/**
 * A map that holds at most `capacity` entries: the one that was not used for longest goes. The order
 * is a list beside the map: in a `Map` of V8, a key that is deleted and set again stays in its bucket
 * as a hole each time, so that one key in use made every look at it as long as the map is large.
 */
export class Lru<K, V> {
  readonly #capacity: number
  readonly #entries = new Map<K, Entry<K, V>>()
  #newest: Entry<K, V> | undefined
  #oldest: Entry<K, V> | undefined

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: K): V | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    if (entry !== this.#newest) {
      this.#unlink(entry)
      this.#link(entry)
    }
    return entry.value
  }

  /** Answers what had to go for it. */
  set(key: K, value: V): V | undefined {
    if (this.#entries.has(key)) {
      this.get(key)
      if (this.#newest !== undefined) this.#newest.value = value
      return undefined
    }
    const entry = { key, value, newer: undefined, older: undefined }
    this.#entries.set(key, entry)
    this.#link(entry)
    const oldest = this.#oldest
    if (this.#entries.size <= this.#capacity || oldest === undefined) return undefined
    this.delete(oldest.key)
    return oldest.value
  }

  /** Those that were not used for longest first. */
  values(): V[] {
    const values: V[] = []
    for (let entry = this.#oldest; entry !== undefined; entry = entry.newer)
      values.push(entry.value)
    return values
  }

  delete(key: K): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    this.#unlink(entry)
  }

  clear(): void {
    this.#entries.clear()
    this.#newest = undefined
    this.#oldest = undefined
  }

  #link(entry: Entry<K, V>): void {
    entry.older = this.#newest
    entry.newer = undefined
    if (this.#newest === undefined) this.#oldest = entry
    else this.#newest.newer = entry
    this.#newest = entry
  }

  #unlink(entry: Entry<K, V>): void {
    if (entry.newer === undefined) this.#newest = entry.older
    else entry.newer.older = entry.older
    if (entry.older === undefined) this.#oldest = entry.newer
    else entry.older.newer = entry.newer
  }
}
