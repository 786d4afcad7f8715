import type { Logger } from 'pino'
import type { ShoalError } from '../../shared/errors.ts'
import type { EnrolAnswer, EnrolRequest } from '../../shared/wire/announce.ts'
import type { Events } from '../events/bus.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { Signing } from '../signing/signing.ts'
import type { Cell } from './cell.ts'
import { type Cells, quarantined } from './cells.ts'
import type { Clones } from './clones.ts'

/** A connection that presents the credential of a cell. */
export interface CellCaller {
  /** Names one start of its daemon. */
  bootId: string
  address: string
}

export interface AdmissionParts {
  cells: Cells
  /** All that are in the store. */
  enrolled?: readonly Cell[]
  fleet: Pick<Fleet, 'admit' | 'cell'>
  /** Closes every connection of a cell and forgets what it said. */
  drop: (cellId: string) => void
  clones: Clones
  signing: Pick<Signing, 'publicKey'>
  events: Pick<Events, 'publish'>
  logger: Pick<Logger, 'warn' | 'error'>
}

/** Who may be connected as a cell now: what is ended in the store is ended on the wire. */
export interface Admission extends Pick<Cells, 'revoke' | 'release'> {
  enrol(request: EnrolRequest): Promise<EnrolAnswer>
  /**
   * The cell whose credential this is. Throws `forbidden` for one in quarantine. A caller with a
   * credential that the cell has replaced since is a copy, and puts it there; without a caller it
   * is only refused.
   */
  authenticate(cellId: string, credential: string, caller?: CellCaller): Promise<Cell | undefined>
  /** A start of the cell's daemon connects. Throws `forbidden` when another one has its identity. */
  arrived(cellId: string, bootId: string): void
  leave(cellId: string): Promise<Cell>
  /** Ids of the cells in quarantine. */
  quarantined(): Iterable<string>
  /** Closes what other processes have ended. */
  dropEnded(): Promise<void>
}

export const createAdmission = (parts: AdmissionParts): Admission => {
  const { cells, fleet, drop, clones, signing, events, logger } = parts
  let held = heldOf(parts.enrolled ?? [])
  /** Until the store knows of them. */
  const copied = new Set<string>()

  /** Out at once, not with its next word. */
  const end = (type: string, cell: Cell, details: object = {}): Cell => {
    drop(cell.id)
    clones.forget(cell.id)
    held.delete(cell.id)
    events.publish(`shoal.cell.${type}`, details, cell.id)
    return cell
  }

  const quarantine = async (cellId: string, reason: string, from: object): Promise<void> => {
    logger.warn({ cell: cellId, reason, ...from }, 'cell is in quarantine')
    drop(cellId)
    end('quarantined', await cells.quarantine(cellId, reason, from), { reason, ...from })
    held.add(cellId)
  }

  /** It holds from now on, and in the store as soon as that can write. */
  const suspect = (cellId: string, reason: string, from: { address?: string } = {}): ShoalError => {
    if (!copied.has(cellId)) {
      copied.add(cellId)
      quarantine(cellId, reason, from)
        .catch(error => logger.error({ err: error, cell: cellId }, 'the quarantine is not kept'))
        .finally(() => copied.delete(cellId))
    }
    return quarantined(cellId)
  }

  /** The start that renewed may still have a question under way with the credential from before. */
  const refuseCopy = async (
    cellId: string,
    credential: string,
    { bootId, address }: CellCaller,
  ): Promise<undefined> => {
    if (!(await cells.isReplaced(cellId, credential)) || clones.isNewest(cellId, bootId)) return
    throw suspect(cellId, 'a credential came that was replaced before', { address })
  }

  return {
    enrol: async request => {
      const { cellId, credential } = await cells.enrol(request)
      fleet.admit(cellId, 0)
      events.publish('shoal.cell.enrolled', { name: request.name }, cellId)
      return { cell_id: cellId, credential, signing_key: signing.publicKey }
    },
    authenticate: async (cellId, credential, caller) => {
      const cell = await cells.authenticate(cellId, credential)
      if (cell === undefined) return caller && refuseCopy(cellId, credential, caller)
      if (copied.has(cellId)) throw quarantined(cellId)
      fleet.admit(cell.id, cell.epoch)
      return cell
    },
    arrived: (cellId, bootId) => {
      if (clones.arrived(cellId, bootId)) throw suspect(cellId, 'two machines use its identity')
    },
    revoke: async (cellId, by) => end('revoked', await cells.revoke(cellId, by)),
    leave: async cellId => end('left', await cells.leave(cellId)),
    release: async (cellId, by) => {
      const isSetBack = fleet.cell(cellId)?.staleEpoch !== undefined
      const cell = await cells.release(cellId, by, isSetBack)
      drop(cellId)
      clones.forget(cellId)
      held.delete(cellId)
      fleet.admit(cellId, cell.epoch)
      events.publish('shoal.cell.released', {}, cellId)
      return cell
    },
    quarantined: () => held,
    dropEnded: async () => {
      const all = await cells.list()
      held = heldOf(all)
      for (const { id, revokedAt, quarantinedAt } of all)
        if ((revokedAt ?? quarantinedAt) !== undefined && fleet.cell(id) !== undefined) drop(id)
    },
  }
}

const heldOf = (cells: readonly Cell[]): Set<string> =>
  new Set(
    cells
      .filter(({ quarantinedAt, revokedAt }) => quarantinedAt !== undefined && !revokedAt)
      .map(({ id }) => id),
  )
