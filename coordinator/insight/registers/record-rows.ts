import type { Kysely } from 'kysely'
import type * as z from 'zod'
import { json } from '../../kernel/store/columns.ts'
import { defineTable } from '../../kernel/store/define-table.ts'
import { readLastNumber, restartSequence } from '../../kernel/store/sequences.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { registerTable, type StoredRecord } from './register.table.ts'

export type Reader = Pick<Kysely<LedgerTables>, 'selectFrom'>

/** Register of one tenant. */
export interface Place {
  tenantId: string
  register: string
}

export const selectRecords = (db: Reader, { tenantId, register }: Place) =>
  db
    .selectFrom('register_records')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('register', '=', register)

export const readRecord = async (
  db: Reader,
  place: Place,
  id: string,
): Promise<StoredRecord | undefined> => {
  const row = await selectRecords(db, place).where('id', '=', id).executeTakeFirst()
  return row && registerTable.read(row)
}

/**
 * Reads rows of one register with their fields as the register declares them. Fields that a later
 * version has added are no reason to refuse a record.
 */
export const createRecordReader = <S extends z.ZodObject>({ record }: { record: S }) => {
  const { name, columns, key } = registerTable
  const record_json = json(record.loose() as unknown as S)
  return defineTable(name, { columns: { ...columns, record_json }, key }).read
}

/** A valid record; its `id` is its key within the register. */
type NewRecord = Readonly<Record<string, unknown>>

interface WriteFacts {
  isExample?: boolean
  importId?: string
  at: number
  by: string
}

/**
 * Adds records, or replaces those with the same ids; a replaced one gets the next revision, and a new
 * one a revision that no deleted record of the register had. Returns how many are new.
 */
export const upsertRecords = async (
  trx: SealedTrx,
  { tenantId, register }: Place,
  records: readonly NewRecord[],
  { isExample = false, importId, at, by }: WriteFacts,
): Promise<number> => {
  const place = { tenantId, register }
  const known = await selectIds(
    trx,
    place,
    records.map(({ id }) => String(id)),
  )
  const revision = 1 + (await readLastNumber(trx, revisionsOf(place)))
  await trx
    .insertInto('register_records')
    .values(
      records.map(record =>
        registerTable.write({
          ...place,
          id: String(record.id),
          record,
          revision,
          isExample,
          importId,
          changedAt: at,
          changedBy: by,
        }),
      ),
    )
    .onConflict(conflict =>
      conflict.columns(['tenant_id', 'register', 'id']).doUpdateSet(row => ({
        record_json: row.ref('excluded.record_json'),
        revision: row('register_records.revision', '+', 1),
        is_example: row.ref('excluded.is_example'),
        import_id: row.ref('excluded.import_id'),
        changed_at: row.ref('excluded.changed_at'),
        changed_by: row.ref('excluded.changed_by'),
      })),
    )
    .execute()
  return records.length - known.length
}

const selectIds = async (
  trx: SealedTrx,
  { tenantId, register }: Place,
  ids: readonly string[],
): Promise<string[]> => {
  const query = trx
    .selectFrom('register_records')
    .select('id')
    .where('tenant_id', '=', tenantId)
    .where('register', '=', register)
    .where('id', 'in', ids)
  return (await query.execute()).map(({ id }) => id)
}

/** Sequence whose last number is the highest revision that a deleted record of the register had. */
const revisionsOf = ({ tenantId, register }: Place) =>
  `register-revision:${tenantId}:${register}` as const

const keepRevision = async (trx: SealedTrx, place: Place, revision: number): Promise<void> => {
  const name = revisionsOf(place)
  if (revision > (await readLastNumber(trx, name))) await restartSequence(trx, name, revision)
}

export const deleteRows = async (
  trx: SealedTrx,
  place: Place,
  ids: readonly string[],
): Promise<void> => {
  const deleted = await trx
    .deleteFrom('register_records')
    .where('tenant_id', '=', place.tenantId)
    .where('register', '=', place.register)
    .where('id', 'in', ids)
    .returning('revision')
    .execute()
  await keepRevision(trx, place, maxOf(deleted))
}

const maxOf = (rows: readonly { revision: number }[]): number =>
  rows.reduce((max, { revision }) => Math.max(max, revision), 0)

/**
 * Deletes the example records of a tenant: its own ones replace them, because figures over both
 * would describe no organisation. Returns their number.
 */
export const deleteExampleRows = async (trx: SealedTrx, tenantId: string): Promise<number> => {
  const deleted = await trx
    .deleteFrom('register_records')
    .where('tenant_id', '=', tenantId)
    .where('is_example', '=', 1)
    .returning(['register', 'revision'])
    .execute()
  for (const [register, rows] of Map.groupBy(deleted, row => row.register))
    await keepRevision(trx, { tenantId, register }, maxOf(rows))
  return deleted.length
}
