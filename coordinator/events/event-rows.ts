import type { Kysely } from 'kysely'
import type { EventRow } from '../store/event-tables.ts'
import { takeNumbers } from '../store/sequences.ts'
import type { SealedTrx } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'
import type { CloudEvent } from './bus.ts'

type Reading = Pick<Kysely<LedgerTables>, 'selectFrom'>

/** Numbers the events and stores them. */
export const insertEvents = async (
  trx: SealedTrx,
  rows: readonly Omit<EventRow, 'seq'>[],
): Promise<void> => {
  const first = (await takeNumbers(trx, 'events', rows.length)) - rows.length + 1
  await trx
    .insertInto('events')
    .values(rows.map((row, i) => ({ ...row, seq: first + i })))
    .execute()
}

/** Events after a number, oldest first. */
export const readEventsAfter = (db: Reading, seq: number, limit: number): Promise<EventRow[]> =>
  db.selectFrom('events').selectAll().where('seq', '>', seq).orderBy('seq').limit(limit).execute()

/** The newest events, oldest first. */
export const readNewestEvents = async (db: Reading, limit: number): Promise<EventRow[]> => {
  const query = db.selectFrom('events').selectAll().orderBy('seq', 'desc').limit(limit)
  return (await query.execute()).reverse()
}

export const eventOf = (row: EventRow): CloudEvent => ({
  specversion: '1.0',
  id: String(row.seq),
  source: row.source,
  type: row.type,
  ...(row.subject === null ? {} : { subject: row.subject }),
  time: new Date(row.at).toISOString(),
  data: JSON.parse(row.data_json),
})
