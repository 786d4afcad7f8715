import { join } from 'node:path'
import type { Logger } from 'pino'
import { readPrivate, replacePrivate } from '../../shared/private-file.ts'
import { wait as realWait, type Wait } from '../../shared/wait.ts'
import { AuditHead, isGenuineHead, signHead } from '../../shared/wire/audit-head.ts'
import type { Events } from '../events/bus.ts'
import type { SigningKey } from '../signing/signing.ts'
import { readLastNumber } from '../store/sequences.ts'
import type { Ledger } from '../store/store.ts'
import { markTrouble, readTrouble, refusalFor } from '../store/trouble.ts'
import { counterFault, newestRow } from './audit.ts'
import { verifyAudit } from './verify.ts'
import { witnessProblem } from './witness.ts'

export interface AuditGuardParts {
  ledger: Ledger
  signer: Pick<SigningKey, 'publicKey' | 'sign' | 'endorses' | 'witnesses'>
  stateDir: string
  /** Sends a new head to the cells, which keep the highest one they have seen. */
  broadcast: (head: AuditHead) => void
  publish: Events['publish']
  logger: Pick<Logger, 'error' | 'warn' | 'info'>
  signal: AbortSignal
  /** Unix time, milliseconds. */
  now: () => number
  wait?: Wait
}

const FILE = 'audit-head.json'
const EVERY_MS = 5000

/**
 * Guards the chain: signs its newest row every few seconds, keeps that head in its own file and
 * with the cells, and compares the heads they show with the store. A chain that was changed, cut or
 * set back stops all writing, by a mark in the store that only `audit accept` removes.
 */
export class AuditGuard {
  readonly #parts: AuditGuardParts
  readonly #path: string
  #trouble: string | undefined
  #newest: AuditHead | undefined
  #isChecked = false
  #isMarked = false
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
    this.#path = join(parts.stateDir, FILE)
    this.checked = this.#checkAll().catch(error =>
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
    const { ledger, publish, logger } = this.#parts
    this.#trouble = reason
    ledger.freeze(refusalFor(reason))
    logger.error({ reason }, 'the audit was tampered with; nothing is written any more')
    publish('shoal.audit.broken', { reason })
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

  /** Stores the fault for other processes and the next start. */
  async #mark(): Promise<void> {
    const { ledger, logger, now } = this.#parts
    const reason = this.#trouble
    if (this.#isMarked || reason === undefined) return
    try {
      await ledger.sealed.write(trx => markTrouble(trx, reason, now()), { evenFrozen: true })
      this.#isMarked = true
    } catch (error) {
      logger.warn({ err: error }, 'that the audit is in doubt could not be kept; tried again')
    }
  }

  async #readMark(): Promise<void> {
    const marked = await readTrouble(this.#parts.ledger.read)
    if (marked !== undefined) this.suspect(marked)
  }

  /** Signed by this key or an earlier one; `audit accept` voids the heads signed before it. */
  #isWitness(head: AuditHead): boolean {
    return this.#parts.signer.witnesses(head.key_id) && isGenuineHead(head, head.key_id)
  }

  async #checkAll(): Promise<void> {
    const { ledger, signer, logger } = this.#parts
    await this.#readMark()
    const kept = await keptHead(this.#path, logger)
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
    await this.#readMark()
    if (this.#newest !== undefined) await this.compareHead(this.#newest, 'this process')
    const least = await readLastNumber(ledger.read, 'audit')
    const row = await newestRow(ledger.read)
    const fault = counterFault(row?.seq ?? 0, { least, most: Infinity })
    if (fault !== undefined) this.suspect(fault)
    if (row === undefined || this.#trouble !== undefined) return
    if (row.seq === this.#newest?.seq && this.#newest.key_id === signer.publicKey) return
    const head = signHead({ ...row, at: now() }, signer)
    // the next round tries again when the disk is full
    await replacePrivate(this.#path, `${JSON.stringify(head)}\n`)
    this.#newest = head
    broadcast(head)
  }
}

/** Undefined for an unreadable file too; the cells have their own copies. */
const keptHead = async (
  path: string,
  logger: Pick<Logger, 'warn'>,
): Promise<AuditHead | undefined> => {
  const text = await readPrivate(path)
  if (text === undefined) return undefined
  try {
    return AuditHead.parse(JSON.parse(text))
  } catch {
    logger.warn({ path }, 'the kept audit head cannot be read')
    return undefined
  }
}
