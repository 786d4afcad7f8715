import type { Logger } from 'pino'
import type { ShoalError } from '../../../shared/errors.ts'
import type { EnrolAnswer, EnrolRequest } from '../../../shared/wire/announce.ts'
import type { Actor } from '../../kernel/audit/audit.ts'
import type { SigningKey } from '../../kernel/signing/signing.ts'
import type { Fleet } from '../cells/fleet.ts'
import type { EnrolledCell } from './cell.ts'
import type { CellStarts } from './cell-starts.ts'
import type { Cells } from './cells.ts'
import type { Clones } from './clones.ts'
import type { ConnectLimit } from './connect-limit.ts'
import { createQuarantineError } from './live-cells.ts'

/** Connection that presents the credential of a cell. */
/** Boot id of peers that send none: they count as one start. */
export const NO_BOOT_ID = 'none'

export interface CellCaller {
  /** Identifies one start of its daemon. */
  bootId: string
  address: string
}

interface CellAdmissionParts {
  cells: Cells
  /** All cells of the store. */
  enrolled?: readonly EnrolledCell[]
  fleet: Pick<Fleet, 'admit' | 'cell'>
  /** Closes every connection of a cell and forgets its reports. */
  drop: (cellId: string) => void
  clones: Clones
  starts: Pick<CellStarts, 'noteConnection' | 'erase'>
  connects: Pick<ConnectLimit, 'note'>
  signing: Pick<SigningKey, 'publicKey'>
  logger: Pick<Logger, 'warn' | 'error'>
}

const SHARED_IDENTITY = 'two machines use its identity'

/** Decides which cells may be connected: a cell that is ended in the store loses its connections. */
export class CellAdmission {
  readonly #parts: CellAdmissionParts
  #quarantined: Set<string>
  /** Cells whose quarantine is not yet stored. */
  readonly #suspected = new Set<string>()

  constructor(parts: CellAdmissionParts) {
    this.#parts = parts
    this.#quarantined = quarantinedIdsOf(parts.enrolled ?? [])
  }

  async enrol(request: EnrolRequest): Promise<EnrolAnswer> {
    const { cells, fleet, signing } = this.#parts
    const { cellId, credential } = await cells.enrol(request)
    fleet.admit(cellId, 0)
    return { cell_id: cellId, credential, signing_key: signing.publicKey }
  }

  /**
   * Returns the cell with this credential. Throws `forbidden` for a quarantined cell. A caller that
   * presents a superseded credential is a copy and has the cell quarantined; without a caller the
   * credential is only refused.
   */
  async authenticate(
    cellId: string,
    credential: string,
    caller?: CellCaller,
  ): Promise<EnrolledCell | undefined> {
    const { cells, fleet, clones } = this.#parts
    const bootId = caller?.bootId ?? clones.findNewest(cellId)
    const cell = await cells.authenticate(cellId, credential, bootId)
    if (cell === undefined) return caller && this.#refuseCopy(cellId, credential, caller)
    if (this.#suspected.has(cellId)) throw createQuarantineError(cellId)
    fleet.admit(cell.id, cell.epoch)
    return cell
  }

  /**
   * Records that a start of the cell's daemon connects. Throws `forbidden` for a cloned identity.
   */
  noteArrival(cellId: string, bootId: string): void {
    if (this.#parts.clones.noteArrival(cellId, bootId)) throw this.#suspect(cellId, SHARED_IDENTITY)
  }

  /**
   * Notes an arrival as `noteArrival` does, for a start that opens a connection. Throws
   * `rate_limited` for a cell that connects again and again.
   */
  noteConnection(cellId: string, bootId: string): void {
    this.#parts.connects.note(cellId)
    this.noteArrival(cellId, bootId)
    this.#parts.starts.noteConnection(cellId, bootId)
  }

  /** Quarantines a cell of which two machines are connected to different coordinators. */
  noteClone(cellId: string): void {
    this.#suspect(cellId, SHARED_IDENTITY)
  }

  async revoke(cellId: string, by: Actor): Promise<EnrolledCell> {
    return this.#end(await this.#parts.cells.revoke(cellId, by))
  }

  async leave(cellId: string): Promise<EnrolledCell> {
    return this.#end(await this.#parts.cells.leave(cellId))
  }

  async release(cellId: string, by: Actor): Promise<EnrolledCell> {
    const { cells, fleet, starts } = this.#parts
    const isSetBack = fleet.cell(cellId)?.staleEpoch !== undefined
    await starts.erase(cellId)
    const cell = await cells.release(cellId, by, isSetBack)
    this.#startOver(cellId)
    fleet.admit(cellId, cell.epoch)
    return cell
  }

  /** Ids of the quarantined cells. */
  listQuarantined(): Iterable<string> {
    return this.#quarantined
  }

  /** Closes the connections of cells that other processes have ended or released. */
  async followOthers(): Promise<void> {
    const { cells, fleet, drop } = this.#parts
    const all = await cells.list()
    const quarantined = quarantinedIdsOf(all)
    const released = [...this.#quarantined].filter(id => !quarantined.has(id))
    this.#quarantined = quarantined
    for (const id of released) this.#startOver(id)
    for (const { id, revokedAt, quarantinedAt, epoch } of all) {
      const known = fleet.cell(id)
      if (known === undefined) continue
      if ((revokedAt ?? quarantinedAt) !== undefined) drop(id)
      else if (known.staleEpoch !== undefined && epoch < known.epoch) this.#startOver(id)
    }
  }

  /** Forgets what a cell was known for, and closes its connections: it was released. */
  #startOver(cellId: string): void {
    this.#parts.drop(cellId)
    this.#parts.clones.forget(cellId)
    this.#quarantined.delete(cellId)
  }

  /** Closes the connections at once instead of at the next message. */
  #end(cell: EnrolledCell): EnrolledCell {
    this.#startOver(cell.id)
    return cell
  }

  async #quarantine(cellId: string, reason: string, from: object): Promise<void> {
    const { cells, drop, logger } = this.#parts
    logger.warn({ cell: cellId, reason, ...from }, 'cell is in quarantine')
    drop(cellId)
    const cell = await cells.quarantine(cellId, reason, from)
    this.#end(cell)
    this.#quarantined.add(cellId)
  }

  /** Quarantines a cell at once; the quarantine is stored as soon as the store can write. */
  #suspect(cellId: string, reason: string, from: { address?: string } = {}): ShoalError {
    if (!this.#suspected.has(cellId)) {
      this.#suspected.add(cellId)
      this.#quarantine(cellId, reason, from)
        .catch(error =>
          this.#parts.logger.error({ err: error, cell: cellId }, 'the quarantine is not kept'),
        )
        .finally(() => this.#suspected.delete(cellId))
    }
    return createQuarantineError(cellId)
  }

  async #refuseCopy(
    cellId: string,
    credential: string,
    { bootId, address }: CellCaller,
  ): Promise<undefined> {
    if (!(await this.#parts.cells.isReplaced(cellId, credential, bootId))) return
    throw this.#suspect(cellId, 'a superseded credential was presented', { address })
  }
}

const quarantinedIdsOf = (cells: readonly EnrolledCell[]): Set<string> =>
  new Set(
    cells
      .filter(({ quarantinedAt, revokedAt }) => quarantinedAt !== undefined && !revokedAt)
      .map(({ id }) => id),
  )
