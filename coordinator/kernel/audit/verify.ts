import { nextTurn, systemRuntime } from '../../../shared/runtime.ts'
import { readLastNumber } from '../store/sequences.ts'
import type { Ledger } from '../store/store.ts'
import { readTrouble } from '../store/trouble.ts'
import { AUDIT_COLUMNS, type AuditRow } from './audit.table.ts'
import { counterFault, type Head } from './audit.ts'
import { GENESIS, linkFault } from './chain.ts'
import {
  type Checkpoint,
  checkpointFault,
  type EndorsementCheck,
  readCheckpoint,
  tellsOf,
} from './checkpoint.ts'
import { witnessProblem } from './witness.ts'

export type AuditVerdict =
  | { ok: true; rows: number; head: Head; purged: Checkpoint | undefined }
  | { ok: false; brokenAt: number; reason: string }

/** Evidence from outside the chain that the chain is compared with. */
interface Proof {
  /** A head that was seen before. A chain alone cannot tell that its end was cut off. */
  witness?: Head | undefined
  /** Keys whose checkpoints count; none by default. */
  endorses?: EndorsementCheck | undefined
}

const PAGE = 500
const nobody: EndorsementCheck = () => false

/**
 * Checks every link of the chain, the counter of its rows, and what is held against it beside.
 * Reads the counter before and after, because rows may be added meanwhile.
 */
export const verifyAudit = async (ledger: Ledger, proof: Proof = {}): Promise<AuditVerdict> => {
  const least = await readLastNumber(ledger.read, 'audit')
  const verdict = await verifyChain(ledger, proof)
  if (!verdict.ok) return verdict
  const most = await readLastNumber(ledger.read, 'audit')
  const reason = counterFault(verdict.head.seq, { least, most })
  return reason === undefined ? verdict : { ok: false, brokenAt: verdict.head.seq + 1, reason }
}

/**
 * Reads the whole chain, a page per turn of the event loop, and checks every link, from the first
 * row or from the checkpoint of what was purged.
 */
export const verifyChain = async (
  ledger: Ledger,
  { witness, endorses = nobody }: Proof = {},
): Promise<AuditVerdict> => {
  for (;;) {
    const purged = await readCheckpoint(ledger.read)
    const verdict = await verifyFrom(ledger, purged, endorses)
    if (verdict.ok) return checkAgainstWitness(ledger, verdict, { witness, endorses })
    // a purge meanwhile has taken rows away that were still to be read
    const after = await readCheckpoint(ledger.read)
    if (after?.seq === purged?.seq) return verdict
  }
}

const verifyFrom = async (
  ledger: Ledger,
  purged: Checkpoint | undefined,
  endorses: EndorsementCheck,
): Promise<AuditVerdict> => {
  const fault = purged && checkpointFault(purged, endorses)
  if (fault !== undefined) return { ok: false, brokenAt: 1, reason: fault }
  const start: Head = purged ?? { seq: 0, hash: GENESIS }
  let head: Head = { seq: start.seq, hash: start.hash }
  let isTold = purged === undefined
  for (let first = true; ; first = false) {
    const rows = await page(ledger, first ? undefined : head.seq)
    for (const row of rows) {
      const reason = linkFault(row, head.seq + 1, head.hash)
      if (reason !== undefined) return { ok: false, brokenAt: head.seq + 1, reason }
      if (purged !== undefined) isTold ||= tellsOf(row, purged)
      head = { seq: row.seq, hash: row.hash }
    }
    if (rows.length < PAGE) break
    await nextTurn(systemRuntime)
  }
  if (!isTold)
    return { ok: false, brokenAt: 1, reason: `no row records the purge up to ${start.seq}` }
  return { ok: true, rows: head.seq - start.seq, head, purged }
}

/** A chain that is whole by itself, held against a head that was seen before. */
export const checkAgainstWitness = async (
  ledger: Ledger,
  verdict: AuditVerdict,
  { witness, endorses = nobody }: Proof,
): Promise<AuditVerdict> => {
  if (!verdict.ok || witness === undefined) return verdict
  const reason = await witnessProblem(ledger, witness, endorses)
  const brokenAt = Math.min(witness.seq, verdict.head.seq + 1)
  return reason === undefined ? verdict : { ok: false, brokenAt, reason }
}

/** The first page has no lower bound: a row with number 0 would be a forged one. */
const page = (ledger: Ledger, after: number | undefined): Promise<AuditRow[]> => {
  const query = ledger.read.selectFrom('audit').select(AUDIT_COLUMNS).orderBy('seq').limit(PAGE)
  return (after === undefined ? query : query.where('seq', '>', after)).execute()
}

/**
 * A chain that is whole by itself while some process has found that it is not what was seen: the
 * mark that stops all writing.
 */
export const checkAgainstMark = async (
  ledger: Ledger,
  verdict: AuditVerdict,
): Promise<AuditVerdict> => {
  const reason = verdict.ok ? await readTrouble(ledger.read) : undefined
  if (!verdict.ok || reason === undefined) return verdict
  return { ok: false, brokenAt: verdict.head.seq + 1, reason }
}

const running = new WeakMap<Ledger, Promise<AuditVerdict>>()

/** The chain, its counter and the mark, for many callers at once: one of them reads the chain. */
export const verifyOnce = (ledger: Ledger, endorses: EndorsementCheck): Promise<AuditVerdict> => {
  const shared =
    running.get(ledger) ??
    verifyAudit(ledger, { endorses })
      .then(verdict => checkAgainstMark(ledger, verdict))
      .finally(() => running.delete(ledger))
  running.set(ledger, shared)
  return shared
}
