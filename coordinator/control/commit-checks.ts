import type { Logger } from 'pino'
import { ShoalError } from '../../shared/errors.ts'
import { Wakeup } from '../../shared/wakeup.ts'
import type { Ledger } from '../store/store.ts'
import { isStored } from './command-store.ts'

const isFrozen = (error: unknown): boolean =>
  error instanceof ShoalError && error.code === 'audit_broken'

interface CommitChecksParts {
  ledger: Ledger
  logger: Pick<Logger, 'warn'>
}

/**
 * Finds out whether commands were committed that were created within a caller's transaction. A
 * check that the store refuses is repeated, because a committed command must not wait for a restart.
 */
export class CommitChecks {
  readonly #parts: CommitChecksParts
  /** Checks that failed and wait for the next attempt. */
  readonly #failed = new Set<Wakeup>()
  #isClosed = false

  constructor(parts: CommitChecksParts) {
    this.#parts = parts
  }

  /**
   * True when the command was committed; call it within the transaction that creates it. Work of the
   * sealed lane runs in order, so the check sees the outcome of that transaction. False also when
   * the outcome is unknown at `close`, or because the ledger was frozen, which lasts until the next
   * start: that start reads the command from the store.
   */
  async isCommitted(id: string): Promise<boolean> {
    const { ledger, logger } = this.#parts
    for (let attempt = 1; ; attempt++)
      try {
        return await ledger.sealed.write(trx => isStored(trx, id))
      } catch (error) {
        if (this.#isClosed || isFrozen(error)) return false
        if (attempt === 1)
          logger.warn({ err: error, command: id }, 'command not found again; the check is repeated')
        await this.#waitForRetry()
      }
  }

  /** Repeats the failed checks. */
  retry(): void {
    for (const check of this.#failed) check.wake()
    this.#failed.clear()
  }

  /** Ends the failed checks after one more attempt. */
  close(): void {
    this.#isClosed = true
    this.retry()
  }

  #waitForRetry(): Promise<void> {
    const check = new Wakeup()
    this.#failed.add(check)
    return check.wait()
  }
}
