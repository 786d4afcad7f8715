import type { Logger } from 'pino'
import type { EnrolAnswer, EnrolRequest } from '../shared/wire/announce.ts'
import type { Events } from './events/bus.ts'
import type { Clones } from './fleet/clones.ts'
import type { Fleet } from './fleet/fleet.ts'
import type { Cell } from './keys/cell.ts'
import { type Cells, quarantined } from './keys/cells.ts'
import type { Signing } from './keys/signing.ts'

export interface AdmissionParts {
  cells: Cells
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
  /** The cell whose credential this is. Throws `forbidden` for one in quarantine. */
  authenticate(cellId: string, credential: string): Promise<Cell | undefined>
  /** A start of the cell's daemon connects. Throws `forbidden` when another one has its identity. */
  arrived(cellId: string, bootId: string): void
  leave(cellId: string): Promise<Cell>
  /** Closes what other processes have ended. */
  dropEnded(): Promise<void>
}

export const createAdmission = (parts: AdmissionParts): Admission => {
  const { cells, fleet, drop, clones, signing, events, logger } = parts
  /** Until the store knows of them. */
  const copied = new Set<string>()

  /** Out at once, not with its next word. */
  const end = (type: string, cell: Cell, details: object = {}): Cell => {
    drop(cell.id)
    clones.forget(cell.id)
    events.publish(`shoal.cell.${type}`, details, cell.id)
    return cell
  }

  const quarantine = async (cellId: string): Promise<void> => {
    const reason = 'two machines use its identity'
    logger.warn({ cell: cellId, reason }, 'cell is in quarantine')
    drop(cellId)
    end('quarantined', await cells.quarantine(cellId, reason), { reason })
  }

  return {
    enrol: async request => {
      const { cellId, credential } = await cells.enrol(request)
      fleet.admit(cellId, 0)
      events.publish('shoal.cell.enrolled', { name: request.name }, cellId)
      return { cell_id: cellId, credential, signing_key: signing.publicKey }
    },
    authenticate: async (cellId, credential) => {
      const cell = await cells.authenticate(cellId, credential)
      if (cell === undefined) return undefined
      if (copied.has(cellId)) throw quarantined(cellId)
      fleet.admit(cell.id, cell.epoch)
      return cell
    },
    arrived: (cellId, bootId) => {
      if (!clones.arrived(cellId, bootId)) return
      copied.add(cellId)
      quarantine(cellId)
        .catch(error => logger.error({ err: error, cell: cellId }, 'the quarantine is not kept'))
        .finally(() => copied.delete(cellId))
      throw quarantined(cellId)
    },
    revoke: async (cellId, by) => end('revoked', await cells.revoke(cellId, by)),
    leave: async cellId => end('left', await cells.leave(cellId)),
    release: async (cellId, by) => {
      const isSetBack = fleet.cell(cellId)?.staleEpoch !== undefined
      const cell = await cells.release(cellId, by, isSetBack)
      drop(cellId)
      clones.forget(cellId)
      fleet.admit(cellId, cell.epoch)
      events.publish('shoal.cell.released', {}, cellId)
      return cell
    },
    dropEnded: async () => {
      for (const { id, revokedAt, quarantinedAt } of await cells.list())
        if ((revokedAt ?? quarantinedAt) !== undefined && fleet.cell(id) !== undefined) drop(id)
    },
  }
}
