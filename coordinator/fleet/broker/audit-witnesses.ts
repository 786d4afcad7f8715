import type { Logger } from 'pino'
import type { AuditHead } from '../../../shared/wire/audit-head.ts'
import type { Fleet } from '../cells/fleet.ts'
import { isPresent } from '../cells/presence.ts'
import type { Bus } from './bus.ts'

interface WitnessParts {
  bus: Pick<Bus, 'publish'>
  fleet: Pick<Fleet, 'cells'>
  logger: Pick<Logger, 'debug'>
}

/** Number of cells that receive each new head; over time every cell receives one. */
const CELLS_A_HEAD = 8

/** Gives new heads of the audit to the cells, a few at a time and all in turn. */
export const createWitnesses = ({ bus, fleet, logger }: WitnessParts) => {
  let told = new Set<string>()
  return (head: AuditHead): void => {
    const present = [...fleet.cells()].filter(cell => isPresent(cell.presence)).map(({ id }) => id)
    const next = present.filter(id => !told.has(id))
    // the round ends here; the next cell starts another
    if (next.length < CELLS_A_HEAD) {
      next.push(...present.filter(id => told.has(id)))
      told = new Set()
    }
    const turn = next.slice(0, CELLS_A_HEAD)
    for (const id of turn) {
      told.add(id)
      bus
        .publish('witness', id, 'witness', head)
        .catch(error => logger.debug({ reason: error.message, cell: id }, 'no witness'))
    }
  }
}
