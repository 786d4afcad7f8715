import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import type { Actor } from '../../kernel/audit/audit.ts'
import type { Events } from '../../kernel/events/bus.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import type { Stop } from './estop.table.ts'
import {
  insertStop,
  readStopsById,
  recordChange,
  releaseStop,
  type StopRelease,
} from './stop-rows.ts'

interface StopWriterParts {
  ledger: Ledger
  events: Pick<Events, 'addWithin'>
  /** Unix milliseconds. */
  now: () => number
  logger: Pick<Logger, 'warn'>
}

/** Stops are kept while the audit is in doubt; releases wait until it is accepted. */
const EVEN_FROZEN = { evenFrozen: true }

/** Writes stops, each change with its number, its event and its audit row in one transaction. */
export class StopWriter {
  readonly #parts: StopWriterParts

  constructor(parts: StopWriterParts) {
    this.#parts = parts
  }

  /** Stores a stop; one that is stored already is left as it is. */
  async engage(stop: Stop, by: Actor, what: 'engage' | 'take_over' = 'engage'): Promise<void> {
    const { ledger, events, now, logger } = this.#parts
    await ledger.sealed.write(async trx => {
      if (!(await insertStop(trx, stop))) return
      await events.addWithin(trx, [await recordChange(trx, { stop, what, by, at: now() })])
    }, EVEN_FROZEN)
    logger.warn({ estop: stop.id, scope: stop.scope, target: stop.target }, 'e-stop stored')
  }

  /** Releases one stop. Throws `not_found`, and `conflict` for one that was released already. */
  async release(id: string, release: StopRelease, by: Actor): Promise<Stop> {
    const { ledger, events, now } = this.#parts
    return ledger.sealed.write(async trx => {
      const stop = await releaseStop(trx, id, release)
      if (stop === undefined) throw createNotInForceError(id, await readStopsById(trx, [id]))
      await events.addWithin(trx, [
        await recordChange(trx, { stop, what: 'release', by, at: now() }),
      ])
      return stop
    })
  }
}

const createNotInForceError = (id: string, [known]: readonly Stop[]): ShoalError =>
  known === undefined
    ? createUnknownError('e-stop', id)
    : new ShoalError('conflict', `e-stop ${id} was released by ${known.releasedBy}`)
