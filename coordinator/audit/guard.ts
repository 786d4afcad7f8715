import { join } from 'node:path'
import type { Logger } from 'pino'
import { readPrivate, replacePrivate } from '../../shared/private-file.ts'
import { wait as realWait, type Wait } from '../../shared/wait.ts'
import { AuditHead, isGenuineHead, signHead } from '../../shared/wire/audit-head.ts'
import type { Events } from '../events/bus.ts'
import type { Signing } from '../signing/signing.ts'
import { lastOfSequence } from '../store/sequences.ts'
import type { Ledger } from '../store/store.ts'
import { markTrouble, readTrouble, refusalFor } from '../store/trouble.ts'
import { counterFault, newestRow } from './audit.ts'
import { verifyAudit } from './verify.ts'
import { witnessProblem } from './witness.ts'

export interface AuditGuardParts {
  ledger: Ledger
  signer: Pick<Signing, 'publicKey' | 'sign' | 'endorses' | 'witnesses'>
  stateDir: string
  /** Gives a new head to the cells, who keep the highest one they have seen. */
  broadcast: (head: AuditHead) => void
  publish: Events['publish']
  logger: Pick<Logger, 'error' | 'warn' | 'info'>
  signal: AbortSignal
  now: () => number
  wait?: Wait
}

/**
 * Watches over the chain: signs its newest row every few seconds, keeps that in a file of its own
 * and with the cells, and holds what they show against the store. A chain that was changed, cut or
 * set back stops all writing, by a mark in the store that only `audit accept` takes away.
 */
export interface AuditGuard {
  /** A head that a cell has kept. Resolves when it was compared. */
  witnessed(head: AuditHead, from: string): Promise<void>
  /** The newest head that was signed. */
  head(): AuditHead | undefined
  /** Something is wrong with the audit: nothing is written any more. */
  suspect(reason: string): void
  /** What is wrong with the audit; undefined while nothing is. */
  trouble(): string | undefined
  /** Resolves after the whole chain was read once. */
  checked: Promise<void>
  /**
   * Resolves after `signal`, when a last head is signed and nothing is read or written any more:
   * rows that are added after the signal may have no witness.
   */
  ended: Promise<void>
}

const FILE = 'audit-head.json'
const EVERY_MS = 5000

export const guardAudit = (parts: AuditGuardParts): AuditGuard => {
  const { ledger, signer, broadcast, publish, logger, signal, now, wait = realWait } = parts
  const path = join(parts.stateDir, FILE)
  let trouble: string | undefined
  let newest: AuditHead | undefined
  let isChecked = false
  let isMarked = false

  const alarm = (reason: string): void => {
    if (trouble !== undefined) return
    trouble = reason
    ledger.freeze(refusalFor(reason))
    logger.error({ reason }, 'the audit was tampered with; nothing is written any more')
    publish('shoal.audit.broken', { reason })
    void mark()
  }

  /** For other processes, and the next start. */
  const mark = async (): Promise<void> => {
    const reason = trouble
    if (isMarked || reason === undefined) return
    try {
      await ledger.sealed.write(trx => markTrouble(trx, reason, now()), { evenFrozen: true })
      isMarked = true
    } catch (error) {
      logger.warn({ err: error }, 'that the audit is in doubt could not be kept; tried again')
    }
  }

  /** Of this key or an earlier one; `audit accept` makes void what was signed before it. */
  const counts = (head: AuditHead): boolean =>
    signer.witnesses(head.key_id) && isGenuineHead(head, head.key_id)

  const witnessed: AuditGuard['witnessed'] = async (head, from) => {
    if (!counts(head)) return
    const problem = await witnessProblem(ledger, head, signer.endorses)
    if (problem !== undefined) alarm(`${problem} (kept by ${from})`)
  }

  const checkAll = async (): Promise<void> => {
    const marked = await readTrouble(ledger.read)
    if (marked !== undefined) alarm(marked)
    const kept = await keptHead(path, logger)
    const witness = kept && counts(kept) ? kept : undefined
    const verdict = await verifyAudit(ledger, { witness, endorses: signer.endorses })
    if (!verdict.ok) alarm(verdict.reason)
    isChecked = true
  }

  const sign = async (): Promise<void> => {
    // what is kept must not be replaced before it was compared
    if (!isChecked) await checkAll()
    await mark()
    const marked = await readTrouble(ledger.read)
    if (marked !== undefined) alarm(marked)
    if (newest !== undefined) await witnessed(newest, 'this process')
    const least = await lastOfSequence(ledger.read, 'audit')
    const row = await newestRow(ledger.read)
    const fault = counterFault(row?.seq ?? 0, { least, most: Infinity })
    if (fault !== undefined) alarm(fault)
    if (row === undefined || trouble !== undefined) return
    if (row.seq === newest?.seq && newest.key_id === signer.publicKey) return
    const head = signHead({ ...row, at: now() }, signer)
    // when the disk takes nothing, the next round tries again
    await replacePrivate(path, `${JSON.stringify(head)}\n`)
    newest = head
    broadcast(head)
  }

  const checked = checkAll().catch(error =>
    logger.warn({ err: error }, 'the audit could not be checked'),
  )
  const trySign = (): Promise<void> =>
    sign().catch(error => logger.warn({ err: error }, 'the audit head was not signed'))

  const run = async (): Promise<void> => {
    await checked
    while (!signal.aborted) {
      await trySign()
      await wait(EVERY_MS, signal)
    }
    // the rows since the last round have a witness too when the next start compares them
    await trySign()
    await mark()
  }
  const ended = run()
  return { witnessed, suspect: alarm, head: () => newest, trouble: () => trouble, checked, ended }
}

/** A file that cannot be understood says nothing; the cells have their own. */
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
