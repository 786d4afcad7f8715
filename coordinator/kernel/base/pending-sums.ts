/** Rows of sums that wait in memory to be written together. */
export class PendingSums<Sum extends string, Row extends Record<Sum, number>> {
  readonly #keyOf: (row: Row) => string
  readonly #sums: readonly Sum[]
  readonly #write: (rows: Row[]) => Promise<void>
  #rows = new Map<string, Row>()

  /**
   * @param parts `keyOf` returns the text that identifies a row, `sums` names its fields to add up,
   *   and `write` stores all rows or none
   */
  constructor(parts: {
    keyOf: (row: Row) => string
    sums: readonly Sum[]
    write: (rows: Row[]) => Promise<void>
  }) {
    this.#keyOf = parts.keyOf
    this.#sums = parts.sums
    this.#write = parts.write
  }

  /** Adds a row to the waiting one with its key. The row belongs to this object from then on. */
  add(row: Row): void {
    const key = this.#keyOf(row)
    const known: Record<Sum, number> | undefined = this.#rows.get(key)
    if (known === undefined) this.#rows.set(key, row)
    else for (const name of this.#sums) known[name] += row[name]
  }

  /** Writes the waiting rows. Rejects as `write` does; the rows then wait for the next call. */
  async flush(): Promise<void> {
    if (this.#rows.size === 0) return
    const rows = [...this.#rows.values()]
    this.#rows = new Map()
    try {
      await this.#write(rows)
    } catch (error) {
      for (const row of rows) this.add(row)
      throw error
    }
  }
}
