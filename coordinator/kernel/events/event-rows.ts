import { isDeepStrictEqual } from 'node:util'
import type { Kysely } from 'kysely'
import { takeNumbers } from '../store/sequences.ts'
import type { SealedTrx } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'
import type { CloudEvent, EventDraft } from './bus.ts'
import { type EventRow, eventTable } from './event.table.ts'

type Reading = Pick<Kysely<LedgerTables>, 'selectFrom'>

/** An event that has no number yet. */
export type NewEvent = Omit<EventRow, 'seq'>

export const newEventOf = (
  { type, data, subject = null }: EventDraft,
  source: string,
  at: number,
): NewEvent => ({ type, source, subject, at, data_json: JSON.stringify(data) ?? 'null' })

/** Numbers the events, stores them and returns the last of them. */
export const insertEvents = async (
  trx: SealedTrx,
  rows: readonly NewEvent[],
): Promise<EventRow> => {
  const first = (await takeNumbers(trx, 'events', rows.length)) - rows.length + 1
  const numbered = rows.map((row, i) => ({ ...row, seq: first + i }))
  await trx.insertInto('events').values(numbered).execute()
  return numbered.at(-1) as EventRow
}

/** True when the event is stored, and its number has not been given to another one. */
export const isStored = async (db: Reading, row: EventRow): Promise<boolean> => {
  const found = await db.selectFrom('events').selectAll().where('seq', '=', row.seq).execute()
  return found[0] !== undefined && isSameEvent(found[0], row)
}

/** True when two rows with one number are one event; an erasure may have changed its data. */
export const isSameEvent = (
  { data_json: _one, ...a }: EventRow,
  { data_json: _other, ...b }: EventRow,
): boolean => isDeepStrictEqual(a, b)

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
  data: eventTable.columns.data_json.read(row.data_json),
})
