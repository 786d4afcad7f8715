/** Interval of sweeps over all transfers. */
export const SWEEP_SECONDS = 10
/** Bytes that a transfer must advance by in each sweep, on average over its grace. */
export const LEAST_BYTES_PER_SWEEP = 16 * 1024
/** Grace of cells, in sweeps: a cell has computed an answer before it sends a byte of it. */
export const CELL_SWEEPS = 3
/**
 * Grace of clients, in sweeps. The kernel reports what a client has read in steps of up to a third of
 * its send buffer, which may be over a megabyte, so a short grace would cut readers that are slow but
 * steady.
 */
export const CLIENT_SWEEPS = 12

/**
 * Bytes on their way from a cell or to a client. A transfer that does not advance by the minimum in
 * its grace has stalled: single bytes now and then are no progress.
 */
export class Transfer {
  readonly #graceSweeps: number
  readonly #onStall: () => void
  #bytes = 0
  #sweeps = 0

  constructor(graceSweeps: number, onStall: () => void) {
    this.#graceSweeps = graceSweeps
    this.#onStall = onStall
  }

  advance(bytes: number): void {
    this.#bytes += bytes
  }

  /** The first sweep may follow the start at once, so it is not counted. */
  sweep(): void {
    if (this.#bytes >= LEAST_BYTES_PER_SWEEP * this.#graceSweeps) {
      this.#bytes = 0
      this.#sweeps = 1
    } else if (this.#sweeps++ >= this.#graceSweeps) this.#onStall()
  }
}

/**
 * All transfers under way, with one timer for all of them. Time counts in sweeps, so a process that
 * stood still blames nobody for it.
 */
export class Transfers {
  readonly #running = new Set<Transfer>()

  start(transfer: Transfer): void {
    this.#running.add(transfer)
  }

  end(transfer: Transfer): void {
    this.#running.delete(transfer)
  }

  sweep(): void {
    for (const transfer of this.#running) transfer.sweep()
  }
}
