import type { Logger } from 'pino'
import { wait as realWait, type Wait } from '../../shared/wait.ts'
import { type AuditHead, isGenuineHead, signHead } from '../../shared/wire/audit-head.ts'
import type { Events } from '../events/bus.ts'
import type { SigningKey } from '../signing/signing.ts'
import type { Revisions } from '../store/revisions.ts'
import { readLastNumber } from '../store/sequences.ts'
import type { Ledger } from '../store/store.ts'
import { markTrouble, readTrouble, refusalFor } from '../store/trouble.ts'
import { counterFault, newestRow } from './audit.ts'
import { KeptHead } from './kept-head.ts'
import { verifyAudit } from './verify.ts'
import { witnessProblem } from './witness.ts'

export interface AuditGuardParts {
  ledger: Ledger
  /** Reports the marks that other coordinators set and remove. */
  revisions: Pick<Revisions, 'onChange'>
  signer: Pick<SigningKey, 'publicKey' | 'sign' | 'endorses' | 'witnesses' | 'isCurrent'>
  stateDir: string
  /** True for the one coordinator that reports again at its start what was found before. */
  isReporter: () => boolean
  /** Sends a new head to the cells, which keep the highest one they have seen. */
  broadcast: (head: AuditHead) => void
  publish: Events['publish']
  logger: Pick<Logger, 'error' | 'warn' | 'info'>
  signal: AbortSignal
  /** Unix time, milliseconds. */
  now: () => number
  wait?: Wait
}

const EVERY_MS = 5000

/**
 * Guards the chain: signs its newest row every few seconds, keeps that head in its own file and
 * with the cells, and compares the heads they show with the store. A chain that was changed, cut or
 * set back stops all writing, by a mark in the store that only `audit accept` removes.
 */
export class AuditGuard {
  readonly #parts: AuditGuardParts
  readonly #kept: KeptHead
  #trouble: string | undefined
  #newest: AuditHead | undefined
  #isChecked = false
  #isMarked = false
  #isReported = false
  /** Resolves once the whole chain was read. */
  readonly checked: Promise<void>
  /**
   * Resolves after `signal`, when a last head is signed and nothing is read or written any more:
   * rows that are added after the signal may have no witness.
   */
  readonly ended: Promise<void>

  static start(parts: AuditGuardParts): AuditGuard {
    return new AuditGuard(parts)
  }

  private constructor(parts: AuditGuardParts) {
    this.#parts = parts
    this.#kept = new KeptHead(parts.stateDir, parts.logger)
    const follow = () => void this.#followMark().catch(() => {})
    parts.signal.addEventListener('abort', parts.revisions.onChange('audit', follow))
    this.checked = this.#checkAll(true).catch(error =>
      parts.logger.warn({ err: error }, 'the audit could not be checked'),
    )
    this.ended = this.#run()
  }

  /** Compares a head that a cell has kept with the chain; resolves when it was compared. */
  async compareHead(head: AuditHead, from: string): Promise<void> {
    if (!this.#isWitness(head)) return
    const { ledger, signer } = this.#parts
    const problem = await witnessProblem(ledger, head, signer.endorses)
    if (problem !== undefined) this.suspect(`${problem} (kept by ${from})`)
  }

  /** The newest signed head. */
  head(): AuditHead | undefined {
    return this.#newest
  }

  /** Reports a fault of the audit, which stops all writing. */
  suspect(reason: string): void {
    if (this.#trouble !== undefined) return
    this.#stopWriting(reason)
    void this.#mark()
  }

  /** The fault of the audit; undefined while there is none. */
  trouble(): string | undefined {
    return this.#trouble
  }

  async #run(): Promise<void> {
    const { signal, wait = realWait } = this.#parts
    await this.checked
    while (!signal.aborted) {
      await this.#trySign()
      await wait(EVERY_MS, signal)
    }
    // gives the rows since the last round a witness for the next start
    await this.#trySign()
    await this.#mark()
  }

  #trySign(): Promise<void> {
    return this.#sign().catch(error =>
      this.#parts.logger.warn({ err: error }, 'the audit head was not signed'),
    )
  }

  #stopWriting(reason: string): void {
    const { ledger, logger } = this.#parts
    this.#trouble = reason
    ledger.freeze(refusalFor(reason))
    logger.error({ reason }, 'the audit was tampered with; nothing is written any more')
  }

  /** Writing goes on, and everything is checked again: with the key that voids earlier heads. */
  #resumeWriting(): void {
    this.#trouble = undefined
    this.#isMarked = false
    this.#isReported = false
    this.#isChecked = false
    this.#newest = undefined
    this.#parts.ledger.unfreeze()
    this.#parts.logger.info('the audit was accepted; writing goes on')
  }

  #report(reason: string): void {
    if (!this.#isReported) this.#parts.publish('shoal.audit.broken', { reason })
    this.#isReported = true
  }

  /**
   * Stores the fault for other coordinators and the next start; the first one to store it reports
   * it. A fault found by an outdated key is dropped: the audit may have been accepted since.
   */
  async #mark(): Promise<void> {
    const { ledger, signer, logger, now } = this.#parts
    const reason = this.#trouble
    if (this.#isMarked || reason === undefined) return
    try {
      const isFirst = await ledger.sealed.write(
        async trx => ((await signer.isCurrent(trx)) ? markTrouble(trx, reason, now()) : undefined),
        { evenFrozen: true },
      )
      if (isFirst === undefined) return this.#resumeWriting()
      this.#isMarked = true
      if (isFirst) this.#report(reason)
    } catch (error) {
      logger.warn({ err: error }, 'that the audit is in doubt could not be kept; tried again')
      this.#report(reason)
    }
  }

  /** Does what another coordinator, or `audit accept`, has decided. */
  async #followMark(isStart = false): Promise<void> {
    const wasMarked = this.#isMarked
    const marked = await readTrouble(this.#parts.ledger.read)
    if (marked === undefined && wasMarked) this.#resumeWriting()
    if (marked === undefined) return
    this.#isMarked = true
    if (this.#trouble === undefined) this.#stopWriting(marked)
    if (isStart && this.#parts.isReporter()) this.#report(marked)
  }

  /** Signed by this key or an earlier one; `audit accept` voids the heads signed before it. */
  #isWitness(head: AuditHead): boolean {
    return this.#parts.signer.witnesses(head.key_id) && isGenuineHead(head, head.key_id)
  }

  async #checkAll(isStart = false): Promise<void> {
    const { ledger, signer } = this.#parts
    await this.#followMark(isStart)
    const kept = await this.#kept.read()
    const witness = kept && this.#isWitness(kept) ? kept : undefined
    const verdict = await verifyAudit(ledger, { witness, endorses: signer.endorses })
    if (!verdict.ok) this.suspect(verdict.reason)
    this.#isChecked = true
  }

  async #sign(): Promise<void> {
    const { ledger, signer, broadcast, now } = this.#parts
    // the kept head must be compared before it is replaced
    if (!this.#isChecked) await this.#checkAll()
    await this.#mark()
    await this.#followMark()
    if (this.#newest !== undefined) await this.compareHead(this.#newest, 'this process')
    const least = await readLastNumber(ledger.read, 'audit')
    const row = await newestRow(ledger.read)
    const fault = counterFault(row?.seq ?? 0, { least, most: Infinity })
    if (fault !== undefined) this.suspect(fault)
    if (row === undefined || this.#trouble !== undefined) return
    if (row.seq === this.#newest?.seq && this.#newest.key_id === signer.publicKey) return
    const head = signHead({ ...row, at: now() }, signer)
    // the next round tries again when the disk is full
    await this.#kept.replace(head)
    this.#newest = head
    broadcast(head)
  }
}
