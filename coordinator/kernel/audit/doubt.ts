import type { Logger } from 'pino'
import type { EventDraft, Events } from '../events/bus.ts'
import type { SigningKey } from '../signing/signing.ts'
import { faultOf } from '../store/faults.ts'
import type { Ledger } from '../store/store.ts'
import { markTrouble, readTrouble, refusalFor } from '../store/trouble.ts'

export interface AuditDoubtParts {
  ledger: Pick<Ledger, 'sealed' | 'read' | 'freeze' | 'unfreeze'>
  signer: Pick<SigningKey, 'isCurrent'>
  /** True for the one coordinator that reports again at its start what was found before. */
  isReporter: () => boolean
  events: Pick<Events, 'publish' | 'addWithin'>
  logger: Pick<Logger, 'error' | 'warn' | 'info'>
  /** Unix time, milliseconds. */
  now: () => number
}

/**
 * A fault of the audit, which stops all writing: by a mark in the store that every coordinator
 * follows, until `audit accept` removes it.
 */
export class AuditDoubt {
  readonly #parts: AuditDoubtParts
  readonly #onAccepted: () => void
  #reason: string | undefined
  #isMarked = false
  #isReported = false

  constructor(parts: AuditDoubtParts, onAccepted: () => void) {
    this.#parts = parts
    this.#onAccepted = onAccepted
  }

  /** The fault; undefined while there is none. */
  get reason(): string | undefined {
    return this.#reason
  }

  suspect(reason: string): void {
    if (this.#reason !== undefined) return
    this.#stopWriting(reason)
    void this.mark()
  }

  /**
   * Stores the fault for other coordinators and the next start; the first one to store it reports
   * it. A fault found by an outdated key is dropped: the audit may have been accepted since.
   */
  async mark(): Promise<void> {
    const { ledger, signer, events, logger, now } = this.#parts
    const reason = this.#reason
    if (this.#isMarked || reason === undefined) return
    try {
      const isFirst = await ledger.sealed.write(
        async trx => {
          if (!(await signer.isCurrent(trx))) return undefined
          const isFirst = await markTrouble(trx, reason, now())
          if (isFirst && !this.#isReported) await events.addWithin(trx, [brokenEvent(reason)])
          return isFirst
        },
        { evenFrozen: true },
      )
      if (isFirst === undefined) return this.#resumeWriting()
      this.#isMarked = true
      this.#isReported ||= isFirst
    } catch (error) {
      logger.warn({ err: error }, 'the doubt about the audit could not be stored; retrying')
      // an uncertain mark is stored with its event, or both are stored by the next attempt
      if (faultOf(error) !== 'uncertain') this.#report(reason)
    }
  }

  /** Does what another coordinator, or `audit accept`, has decided. */
  async follow(isStart = false): Promise<void> {
    const wasMarked = this.#isMarked
    const marked = await readTrouble(this.#parts.ledger.read)
    if (marked === undefined && wasMarked) this.#resumeWriting()
    if (marked === undefined) return
    this.#isMarked = true
    if (this.#reason === undefined) this.#stopWriting(marked)
    if (isStart && this.#parts.isReporter()) this.#report(marked)
  }

  #stopWriting(reason: string): void {
    const { ledger, logger } = this.#parts
    this.#reason = reason
    ledger.freeze(refusalFor(reason))
    logger.error({ reason }, 'the audit was tampered with; nothing is written any more')
  }

  #resumeWriting(): void {
    this.#reason = undefined
    this.#isMarked = false
    this.#isReported = false
    this.#parts.ledger.unfreeze()
    this.#parts.logger.info('the audit was accepted; writing resumes')
    this.#onAccepted()
  }

  #report(reason: string): void {
    const { type, data } = brokenEvent(reason)
    if (!this.#isReported) this.#parts.events.publish(type, data)
    this.#isReported = true
  }
}

const brokenEvent = (reason: string): EventDraft => ({
  type: 'shoal.audit.broken',
  data: { reason },
})
