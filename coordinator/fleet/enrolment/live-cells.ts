import { ShoalError } from '../../../shared/errors.ts'
import type { StoredCell } from './cell.table.ts'

/** Error for a cell whose identity another machine shares; operators read it too. */
export const createQuarantineError = (cellId: string): ShoalError =>
  new ShoalError(
    'forbidden',
    `${cellId} is in quarantine: two machines use its identity; stop the copy, then release it`,
  )

/**
 * Judges whether a cell may be served: by its row, and by what this process has changed, which
 * corrects a read of the store that began before.
 */
export class LiveCells {
  readonly #revoked = new Set<string>()
  readonly #quarantined = new Set<string>()

  /** Returns the cell; undefined for a revoked one. Throws `forbidden` for a quarantined one. */
  require(cell: StoredCell | undefined): StoredCell | undefined {
    if (cell === undefined || cell.revokedAt !== undefined || this.#revoked.has(cell.id))
      return undefined
    if (cell.quarantinedAt !== undefined || this.#quarantined.has(cell.id))
      throw createQuarantineError(cell.id)
    return cell
  }

  /** Notes a cell that this process has changed. */
  note({ id, revokedAt, quarantinedAt }: StoredCell): void {
    if (revokedAt !== undefined) this.#revoked.add(id)
    if (quarantinedAt !== undefined) this.#quarantined.add(id)
    else this.#quarantined.delete(id)
  }

  /** Forgets quarantines, which another process may have ended; a revocation is final. */
  forgetQuarantines(): void {
    this.#quarantined.clear()
  }
}
