import { sql } from 'kysely'
import { type AuditEntry, appendAudit } from '../audit/audit.ts'
import { nextSequence } from '../store/sequences.ts'
import type { Ledger, SealedTrx } from '../store/store.ts'
import {
  type CommandRecord,
  isFinalCommandState,
  toCommandRecord,
  toCommandRow,
} from './command.ts'

/** Ended commands are kept this long; the audit keeps its rows. */
const KEPT_MS = 30 * 24 * 3600 * 1000

/**
 * Returns the next fence of a cell. Fences also follow the clock, so that an old copy of the store
 * does not reuse them.
 */
export const nextFence = (trx: SealedTrx, cellId: string, now: number): Promise<number> =>
  nextSequence(trx, `command-fence:${cellId}`, now)

/** Stores a new command together with its audit entry. */
export const insertCommand = async (
  trx: SealedTrx,
  record: CommandRecord,
  entry: AuditEntry,
): Promise<void> => {
  await trx.insertInto('commands').values(toCommandRow(record)).execute()
  await appendAudit(trx, entry)
}

/** Stores changed commands; a final state adds an audit entry. */
export const updateCommands = (ledger: Ledger, records: readonly CommandRecord[]): Promise<void> =>
  ledger.sealed.write(async trx => {
    for (const record of records) {
      const { id, cell_id, signed_json, ...values } = toCommandRow(record)
      await trx.updateTable('commands').set(values).where('id', '=', id).execute()
      if (isFinalCommandState(record.state)) await appendAudit(trx, endOf(record))
    }
  })

const endOf = ({ id, cellId, verb, state, reason, updatedAt }: CommandRecord): AuditEntry => ({
  actor: `cell:${cellId}`,
  at: updatedAt,
  action: `command.${state}`,
  subject: id,
  outcome: state === 'succeeded' ? 'done' : 'refused',
  details: { verb, ...(reason === undefined ? {} : { reason }) },
})

export const readCommand = async (
  { read }: Ledger,
  id: string,
): Promise<CommandRecord | undefined> => {
  const query = read.selectFrom('commands').selectAll().where('id', '=', id)
  const row = await query.executeTakeFirst()
  return row && toCommandRecord(row)
}

/** Results that are longer are shown with their command alone, not in a list. */
const LISTED_RESULT_LENGTH = 32 * 1024

const listedResult = sql<string | null>`
  case when length(result_json) <= ${LISTED_RESULT_LENGTH} then result_json end`

/** Returns commands, newest first, without large results. */
export const readCommands = async (
  { read }: Ledger,
  { cellId, before, limit }: { cellId?: string; before?: string; limit: number },
): Promise<CommandRecord[]> => {
  let query = read
    .selectFrom('commands')
    .selectAll()
    .select(listedResult.as('result_json'))
    .orderBy('id', 'desc')
    .limit(limit)
  if (cellId !== undefined) query = query.where('cell_id', '=', cellId)
  if (before !== undefined) query = query.where('id', '<', before)
  return (await query.execute()).map(toCommandRecord)
}

/** True for a command that is in the store. */
export const isStored = async (trx: SealedTrx, id: string): Promise<boolean> => {
  const query = trx.selectFrom('commands').select('id').where('id', '=', id)
  return (await query.executeTakeFirst()) !== undefined
}

/**
 * Returns the commands that have not ended, oldest first. Fences order them, because ids of the
 * same millisecond have no order.
 */
export const readOpen = async ({ read }: Ledger): Promise<CommandRecord[]> => {
  const query = read.selectFrom('commands').selectAll()
  const rows = await query
    .where('state', 'in', ['queued', 'sent', 'accepted', 'executing'])
    .execute()
  return rows.map(toCommandRecord).sort((a, b) => a.fence - b.fence)
}

export const forgetOld = (ledger: Ledger, now: number): Promise<void> =>
  ledger.free.write(async trx => {
    await trx
      .deleteFrom('commands')
      .where('issued_at', '<', now - KEPT_MS)
      .execute()
  })
