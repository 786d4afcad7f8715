import type { SegmentKey } from './series-store.ts'

/** Rows that wait to be written. A cell has few of them, the newest last. */
export class PendingRows<T extends SegmentKey> {
  readonly #byCell = new Map<string, T[]>()
  #size = 0

  get size(): number {
    return this.#size
  }

  find(cellId: string, resolutionSeconds: number, at: number): T | undefined {
    return this.#byCell
      .get(cellId)
      ?.findLast(row => row.at === at && row.resolutionSeconds === resolutionSeconds)
  }

  rowsOf(cellId: string): readonly T[] {
    return this.#byCell.get(cellId) ?? []
  }

  add(row: T): void {
    const rows = this.#byCell.get(row.cellId)
    if (rows === undefined) this.#byCell.set(row.cellId, [row])
    else rows.push(row)
    this.#size++
  }

  delete(row: T): void {
    const rows = this.#byCell.get(row.cellId)
    const index = rows?.indexOf(row) ?? -1
    if (rows === undefined || index < 0) return
    rows.splice(index, 1)
    if (rows.length === 0) this.#byCell.delete(row.cellId)
    this.#size--
  }

  *values(): Generator<T> {
    for (const rows of this.#byCell.values()) yield* rows
  }
}
