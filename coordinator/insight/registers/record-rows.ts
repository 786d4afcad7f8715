import type { Kysely } from 'kysely'
import { readLastNumber, restartSequence } from '../../kernel/store/sequences.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import type { RegisterRow } from './register.table.ts'

export type Reader = Pick<Kysely<LedgerTables>, 'selectFrom'>

/** A record with what is kept beside it. Times are unix milliseconds. */
export interface StoredRecord {
  id: string
  record: Record<string, unknown>
  revision: number
  isExample: boolean
  changedAt: number
  changedBy: string
}

/** Register of one tenant. */
export interface Place {
  tenantId: string
  register: string
}

export const recordOf = (row: RegisterRow): StoredRecord => ({
  id: row.id,
  record: JSON.parse(row.record_json),
  revision: row.revision,
  isExample: row.is_example === 1,
  changedAt: row.changed_at,
  changedBy: row.changed_by,
})

export const selectRecords = (db: Reader, { tenantId, register }: Place) =>
  db
    .selectFrom('register_records')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('register', '=', register)

export const readRow = (db: Reader, place: Place, id: string): Promise<RegisterRow | undefined> =>
  selectRecords(db, place).where('id', '=', id).executeTakeFirst()

interface NewRow {
  id: string
  json: string
}

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
export const upsertRows = async (
  trx: SealedTrx,
  { tenantId, register }: Place,
  rows: readonly NewRow[],
  { isExample = false, importId, at, by }: WriteFacts,
): Promise<number> => {
  const place = { tenantId, register }
  const known = await selectIds(
    trx,
    place,
    rows.map(({ id }) => id),
  )
  const revision = 1 + (await readLastNumber(trx, revisionsOf(place)))
  await trx
    .insertInto('register_records')
    .values(
      rows.map(({ id, json }) => ({
        tenant_id: tenantId,
        register,
        id,
        record_json: json,
        revision,
        is_example: isExample ? 1 : 0,
        import_id: importId ?? null,
        changed_at: at,
        changed_by: by,
      })),
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
  return rows.length - known.length
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
