import type { Kysely } from 'kysely'
import type { EntityOf, RowOf } from '../../kernel/store/define-table.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import {
  type FormationState,
  formationTable,
  OPEN_FORMATION_STATES,
  type StartedFormation,
  type UnitOutcome,
} from './formation.table.ts'
import { type FormationPart, formationPartTable } from './formation-part.table.ts'

type Reader = Pick<Kysely<LedgerTables>, 'selectFrom'>

export const insertFormation = async (trx: SealedTrx, one: StartedFormation): Promise<void> => {
  const row = formationTable.write({ ...one, units: one.plan.units.length })
  await trx.insertInto('formations').values(row).execute()
  for (const part of one.parts)
    await trx
      .insertInto('formation_parts')
      .values(formationPartTable.write({ ...part, formationId: one.id }))
      .execute()
}

interface FormationChange {
  state: FormationState
  at: number
  reason?: string | undefined
  stoppedBy?: string | undefined
  outcome?: UnitOutcome[]
}

/** Changes the state once: false for all concurrent callers but one. */
export const changeFormation = async (
  trx: SealedTrx,
  id: string,
  from: FormationState,
  { state, at, reason, stoppedBy, outcome }: FormationChange,
): Promise<boolean> => {
  const { numUpdatedRows } = await trx
    .updateTable('formations')
    .set(
      formationTable.writeSome({
        state,
        changedAt: at,
        ...(reason !== undefined && { reason: reason.slice(0, 500).toWellFormed() }),
        ...(stoppedBy !== undefined && { stoppedBy }),
        ...(outcome !== undefined && { outcome, endedAt: at }),
      }),
    )
    .where('id', '=', id)
    .where('state', '=', from)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

export const readFormation = async (
  db: Reader,
  id: string,
): Promise<StartedFormation | undefined> => {
  const row = await db.selectFrom('formations').selectAll().where('id', '=', id).executeTakeFirst()
  return row && (await withParts(db, [row]))[0]
}

/** Formations that have not ended. */
export const readOpenFormations = async (db: Reader): Promise<StartedFormation[]> => {
  const query = db.selectFrom('formations').selectAll().where('state', 'in', OPEN_FORMATION_STATES)
  return withParts(db, await query.orderBy('id').execute())
}

/** Reads formations, the newest first. */
export const readFormations = async (
  db: Reader,
  { before, since, limit }: { before?: string; since?: number; limit: number },
): Promise<StartedFormation[]> => {
  let query = db.selectFrom('formations').selectAll().orderBy('id', 'desc').limit(limit)
  if (before !== undefined) query = query.where('id', '<', before)
  if (since !== undefined) query = query.where('created_at', '>=', since)
  return withParts(db, await query.execute())
}

export const deleteOldFormations = async (trx: SealedTrx, before: number): Promise<void> => {
  const old = trx.selectFrom('formations').select('id').where('ended_at', '<', before)
  await trx.deleteFrom('formation_parts').where('formation_id', 'in', old).execute()
  await trx.deleteFrom('formations').where('ended_at', '<', before).execute()
}

const withParts = async (
  db: Reader,
  rows: readonly RowOf<typeof formationTable>[],
): Promise<StartedFormation[]> => {
  if (rows.length === 0) return []
  const ids = rows.map(({ id }) => id)
  const query = db.selectFrom('formation_parts').selectAll().where('formation_id', 'in', ids)
  const parts = (await query.orderBy('cell_id').execute()).map(formationPartTable.read)
  const partsOf = Map.groupBy(parts, ({ formationId }) => formationId)
  return rows.map(row => {
    const { units, ...formation } = formationTable.read(row)
    return { ...formation, parts: (partsOf.get(row.id) ?? []).map(toPart) }
  })
}

const toPart = ({ formationId, ...part }: EntityOf<typeof formationPartTable>): FormationPart =>
  part
