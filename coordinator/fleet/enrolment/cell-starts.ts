import type { Transaction } from 'kysely'
import type { Replicas } from '../../kernel/replicas/replicas.ts'
import type { EntityOf } from '../../kernel/store/define-table.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import type { Fleet } from '../cells/fleet.ts'
import { isPresent } from '../cells/presence.ts'
import { cellStartTable } from './cell-start.table.ts'

interface CellStartsParts {
  ledger: Pick<Ledger, 'free' | 'nowMs'>
  replicas: Pick<Replicas, 'live' | 'owns'>
  fleet: Pick<Fleet, 'cell'>
  /** Silence after which a cell is not present any more. */
  silenceMs: number
  /** Runs for a cell of which two starts are connected at the same time. */
  onClone: (cellId: string) => void
  /** Monotonic milliseconds. */
  nowMs: () => number
}

type CellStart = EntityOf<typeof cellStartTable>

/** Interval between two comparisons. */
export const COMPARE_STARTS_SECONDS = 5
/** Time that both starts must be connected beyond what a dead connection may look alive. */
const MARGIN_MS = 15_000
/** Starts are stored this long after they were last of interest. */
const KEPT_MS = 120_000
const ROWS_AT_ONCE = 500

/**
 * Finds a cloned cell whose machines are connected to different coordinators, where neither ends a
 * connection of the other. Each coordinator stores the starts that connect to it; one that has
 * another start connected meanwhile stores that, too, as long as it is. A single coordinator has
 * nothing to compare and stores nothing.
 */
export class CellStarts {
  readonly #parts: CellStartsParts
  /** Start behind the newest connection of each cell here. */
  readonly #connected = new Map<string, string>()
  /** Starts that are not stored yet. */
  readonly #news = new Map<string, string>()
  #comparedAtMs: number

  constructor(parts: CellStartsParts) {
    this.#parts = parts
    this.#comparedAtMs = parts.nowMs()
  }

  noteConnection(cellId: string, bootId: string): void {
    if (this.#connected.get(cellId) === bootId) return
    this.#connected.set(cellId, bootId)
    this.#news.set(cellId, bootId)
  }

  /** Forgets the connection of a cell that was dropped. */
  forget(cellId: string): void {
    this.#connected.delete(cellId)
    this.#news.delete(cellId)
  }

  /** Removes what is stored about a cell, so that it is judged from now on. */
  async erase(cellId: string): Promise<void> {
    const { ledger } = this.#parts
    await ledger.free.write(trx =>
      trx.deleteFrom('cell_starts').where('cell_id', '=', cellId).execute(),
    )
  }

  /** Call this every `COMPARE_STARTS_SECONDS`. */
  async compare(): Promise<void> {
    const { ledger, replicas, silenceMs, onClone } = this.#parts
    // connections that ended while this process stood still may look alive
    const stoodStill = this.#stoodStill()
    if (replicas.live().length < 2) return this.#news.clear()
    if (stoodStill) return
    const news = [...this.#news]
    const starts = await ledger.free.write(trx => this.#exchange(trx, news))
    for (const [cellId, bootId] of news)
      if (this.#news.get(cellId) === bootId) this.#news.delete(cellId)
    for (const cellId of findClones(starts, silenceMs + MARGIN_MS)) {
      if (!replicas.owns(cellId)) continue
      await this.erase(cellId)
      onClone(cellId)
    }
  }

  #stoodStill(): boolean {
    const before = this.#comparedAtMs
    this.#comparedAtMs = this.#parts.nowMs()
    return this.#comparedAtMs - before > 2000 * COMPARE_STARTS_SECONDS
  }

  /** Stores our starts that are new or that others have seen differently, and returns all. */
  async #exchange(
    trx: Transaction<LedgerTables>,
    news: readonly (readonly [cellId: string, bootId: string])[],
  ): Promise<CellStart[]> {
    const now = await this.#parts.ledger.nowMs(trx)
    await trx
      .deleteFrom('cell_starts')
      .where('seen_at', '<', now - KEPT_MS)
      .execute()
    const stored = (await trx.selectFrom('cell_starts').selectAll().execute()).map(
      cellStartTable.read,
    )
    const contested = stored.flatMap(({ cellId, bootId }) => this.#findOther(cellId, bootId))
    const rows = [...new Map([...news, ...contested])]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([cellId, bootId]) =>
        cellStartTable.write({ cellId, bootId, firstAt: now, seenAt: now }),
      )
    for (let at = 0; at < rows.length; at += ROWS_AT_ONCE)
      await trx
        .insertInto('cell_starts')
        .values(rows.slice(at, at + ROWS_AT_ONCE))
        .onConflict(conflict =>
          conflict.columns(['cell_id', 'boot_id']).doUpdateSet({ seen_at: now }),
        )
        .execute()
    return stored
  }

  /** The start of a cell that is connected here, where that is another one. */
  #findOther(cellId: string, bootId: string): [cellId: string, bootId: string][] {
    const own = this.#connected.get(cellId)
    const presence = this.#parts.fleet.cell(cellId)?.presence
    if (own === undefined || own === bootId || presence === undefined) return []
    return isPresent(presence) ? [[cellId, own]] : []
  }
}

/** Cells of which two starts were both connected for `marginMs` after both were known. */
const findClones = (starts: readonly CellStart[], marginMs: number): string[] => {
  const byCell = Map.groupBy(starts, ({ cellId }) => cellId)
  const overlap = (a: CellStart, b: CellStart): boolean =>
    a !== b && Math.min(a.seenAt, b.seenAt) - Math.max(a.firstAt, b.firstAt) >= marginMs
  return [...byCell].flatMap(([cellId, own]) =>
    own.some(a => own.some(b => overlap(a, b))) ? [cellId] : [],
  )
}
