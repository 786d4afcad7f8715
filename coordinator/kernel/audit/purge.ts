import { ShoalError } from '../../../shared/errors.ts'
import { nextTurn, systemRuntime } from '../../../shared/runtime.ts'
import type { Signer } from '../../../shared/signing.ts'
import type { Ledger, SealedTrx } from '../store/store.ts'
import { AUDIT_COLUMNS, type AuditRow } from './audit.table.ts'
import { appendAudit } from './audit.ts'
import { GENESIS, linkFault } from './chain.ts'
import { type Checkpoint, PURGE_ACTION, readCheckpoint, signCheckpoint } from './checkpoint.ts'

interface PurgeParts {
  ledger: Ledger
  signer: Signer
  retentionDays: number
  /** Unix milliseconds, for the record. */
  now: () => number
  /** Receives the reason when a broken link is found during the purge. */
  suspect: (reason: string) => void
  signal: AbortSignal
}

/** Rows of one transaction: a few milliseconds in which nothing else is done. */
const STEP = 500
/** Rows of which only the times are read in one turn of the event loop. */
const PAGE = 5000

type Trx = SealedTrx

/**
 * Removes the rows from before a time, unix milliseconds, from the beginning of the chain. Each
 * step is one transaction: a checkpoint that is signed, a row that tells of it, and the rows gone.
 * Answers how many are gone. Throws `audit_broken` when they are not whole: evidence stays.
 */
export const purgeAudit = async (
  parts: PurgeParts,
  before: number,
  step: number = STEP,
): Promise<number> => {
  const { ledger, signal, suspect } = parts
  const last = await findLastOld(ledger, before)
  let gone = 0
  while (last !== undefined && !signal.aborted) {
    const removed = await ledger.sealed
      .write(trx => purgeStep(trx, parts, last, step))
      .catch(error => {
        if (error instanceof BrokenChain) suspect(error.message)
        throw error
      })
    if (removed === 0) break
    gone += removed
    await nextTurn(systemRuntime)
  }
  return gone
}

/** A link among the rows to be purged does not hold. */
class BrokenChain extends ShoalError {
  constructor(fault: string) {
    super('audit_broken', fault)
  }
}

const purgeStep = async (
  trx: Trx,
  { signer, retentionDays, now }: PurgeParts,
  last: number,
  step: number,
): Promise<number> => {
  const previous = await readCheckpoint(trx)
  const rows = await firstRows(trx, last, step)
  const end = rows.at(-1)
  if (end === undefined) return 0
  const fault = faultIn(rows, previous)
  if (fault !== undefined) throw new BrokenChain(fault)
  const times = rows.map(({ at }) => at)
  const checkpoint = signCheckpoint(
    {
      seq: end.seq,
      hash: end.hash,
      rows: (previous?.rows ?? 0) + rows.length,
      first_at: Math.min(previous?.first_at ?? Infinity, ...times),
      last_at: Math.max(previous?.last_at ?? 0, ...times),
      retention_days: retentionDays,
      made_at: now(),
    },
    signer,
  )
  await replaceBy(trx, checkpoint)
  return rows.length
}

/** The row that tells of it comes first: the chain never is without a row to continue. */
const replaceBy = async (trx: Trx, checkpoint: Checkpoint): Promise<void> => {
  await appendAudit(trx, {
    actor: 'coordinator',
    action: PURGE_ACTION,
    subject: 'audit',
    outcome: 'done' as const,
    details: { ...checkpoint },
    at: checkpoint.made_at,
  })
  await trx
    .insertInto('audit_checkpoint')
    .values({ id: 1, ...checkpoint })
    .onConflict(conflict => conflict.column('id').doUpdateSet(checkpoint))
    .execute()
  await trx.deleteFrom('audit').where('seq', '<=', checkpoint.seq).execute()
}

const firstRows = (trx: Trx, last: number, limit: number): Promise<AuditRow[]> =>
  trx
    .selectFrom('audit')
    .select(AUDIT_COLUMNS)
    .where('seq', '<=', last)
    .orderBy('seq')
    .limit(limit)
    .execute()

const faultIn = (
  rows: readonly AuditRow[],
  previous: Checkpoint | undefined,
): string | undefined => {
  let { seq, hash } = previous ?? { seq: 0, hash: GENESIS }
  for (const row of rows) {
    const fault = linkFault(row, seq + 1, hash)
    if (fault !== undefined) return fault
    seq = row.seq
    hash = row.hash
  }
  return undefined
}

/**
 * The last row of the old ones at the beginning, none of which is young. A clock that was set back
 * gives rows an age that they do not have: they stay until a row behind them is old that is not
 * older than those before them.
 */
const findLastOld = async (ledger: Ledger, before: number): Promise<number | undefined> => {
  let highest = (await readCheckpoint(ledger.read))?.last_at ?? 0
  let last: number | undefined
  for (let after = 0; ; ) {
    const rows = await ledger.read
      .selectFrom('audit')
      .select(['seq', 'at'])
      .where('seq', '>', after)
      .orderBy('seq')
      .limit(PAGE)
      .execute()
    for (const { seq, at } of rows) {
      if (at >= before) return last
      if (at >= highest) {
        highest = at
        last = seq
      }
      after = seq
    }
    if (rows.length < PAGE) return last
    await nextTurn(systemRuntime)
  }
}
