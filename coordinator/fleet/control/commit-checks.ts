import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import { isStored } from './command-query.ts'
import type { Retries } from './retries.ts'

const isFrozen = (error: unknown): boolean =>
  error instanceof ShoalError && error.code === 'audit_broken'

interface CommitChecksParts {
  ledger: Ledger
  retries: Retries
  logger: Pick<Logger, 'warn'>
}

/**
 * Finds out whether commands were committed whose own transaction does not tell. A check that the
 * store refuses is repeated, because a committed command must not wait for a restart.
 */
export class CommitChecks {
  readonly #parts: CommitChecksParts

  constructor(parts: CommitChecksParts) {
    this.#parts = parts
  }

  /**
   * True when the command was committed; call it within the transaction that creates it, or after
   * it. Work of the sealed lane runs in order, so the check sees the outcome of that transaction.
   * False also when the outcome is unknown at `close`, or because the ledger was frozen: such a
   * command is found again when commands are read from the store.
   */
  async isCommitted(id: string): Promise<boolean> {
    const { ledger, retries, logger } = this.#parts
    for (let attempt = 1; ; attempt++)
      try {
        return await ledger.sealed.write(trx => isStored(trx, id))
      } catch (error) {
        if (retries.isClosed || isFrozen(error)) return false
        if (attempt === 1)
          logger.warn({ err: error, command: id }, 'command not found again; the check is repeated')
        await retries.wait()
      }
  }
}
