import type { Wait } from '../../../shared/wait.ts'
import { type AuditHead, isGenuineHead, signHead } from '../../../shared/wire/audit-head.ts'
import type { SigningKey } from '../signing/signing.ts'
import type { Revisions } from '../store/revisions.ts'
import { readLastNumber } from '../store/sequences.ts'
import type { Ledger } from '../store/store.ts'
import { counterFault, newestRow } from './audit.ts'
import { AuditDoubt, type AuditDoubtParts } from './doubt.ts'
import { KeptHead } from './kept-head.ts'
import { verifyAudit } from './verify.ts'
import { witnessProblem } from './witness.ts'

interface AuditGuardParts extends AuditDoubtParts {
  ledger: Ledger
  /** Reports the marks that other coordinators set and remove. */
  revisions: Pick<Revisions, 'onChange'>
  signer: Pick<
    SigningKey,
    'publicKey' | 'sign' | 'endorses' | 'witnesses' | 'headsVoidAt' | 'isCurrent'
  >
  stateDir: string
  /** Sends a new head to the cells, which keep the highest one they have seen. */
  broadcast: (head: AuditHead) => void
  signal: AbortSignal
  wait: Wait
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
  readonly #doubt: AuditDoubt
  #newest: AuditHead | undefined
  #isChecked = false
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
    // heads from before the acceptance are void, and everything is compared again
    this.#doubt = new AuditDoubt(parts, () => {
      this.#newest = undefined
      this.#isChecked = false
    })
    const follow = () => void this.#doubt.follow().catch(() => {})
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
    this.#doubt.suspect(reason)
  }

  /** The fault of the audit; undefined while there is none. */
  trouble(): string | undefined {
    return this.#doubt.reason
  }

  async #run(): Promise<void> {
    const { signal, wait } = this.#parts
    await this.checked
    while (!signal.aborted) {
      await this.#trySign()
      await wait(EVERY_MS, signal)
    }
    // gives the rows since the last round a witness for the next start
    await this.#trySign()
    await this.#doubt.mark()
  }

  #trySign(): Promise<void> {
    return this.#sign().catch(error =>
      this.#parts.logger.warn({ err: error }, 'the audit head was not signed'),
    )
  }

  /**
   * Tells whether this key or an earlier one signed a head; `audit accept` voids the heads signed
   * before it.
   */
  #isWitness(head: AuditHead): boolean {
    return this.#parts.signer.witnesses(head.key_id) && isGenuineHead(head, head.key_id)
  }

  /**
   * True also for a head of this coordinator with a key that the store does not know: it was set
   * back to before the key.
   */
  #isOwnWitness(head: AuditHead): boolean {
    const { signer } = this.#parts
    const isOfLostKey = !signer.endorses(head.key_id) && head.at > signer.headsVoidAt()
    return this.#isWitness(head) || isOfLostKey
  }

  async #checkAll(isStart = false): Promise<void> {
    const { ledger, signer } = this.#parts
    await this.#doubt.follow(isStart)
    const kept = await this.#kept.read()
    const witness = kept && this.#isOwnWitness(kept) ? kept : undefined
    const verdict = await verifyAudit(ledger, { witness, endorses: signer.endorses })
    if (!verdict.ok) this.suspect(verdict.reason)
    this.#isChecked = true
  }

  async #sign(): Promise<void> {
    const { ledger, signer, broadcast, now } = this.#parts
    // the kept head must be compared before it is replaced
    if (!this.#isChecked) await this.#checkAll()
    await this.#doubt.mark()
    await this.#doubt.follow()
    if (this.#newest !== undefined) await this.compareHead(this.#newest, 'this process')
    const least = await readLastNumber(ledger.read, 'audit')
    const row = await newestRow(ledger.read)
    const fault = counterFault(row?.seq ?? 0, { least, most: Infinity })
    if (fault !== undefined) this.suspect(fault)
    if (row === undefined || this.trouble() !== undefined) return
    if (row.seq === this.#newest?.seq && this.#newest.key_id === signer.publicKey) return
    const head = signHead({ ...row, at: now() }, signer)
    // the next round tries again when the disk is full
    await this.#kept.replace(head)
    this.#newest = head
    broadcast(head)
  }
}
