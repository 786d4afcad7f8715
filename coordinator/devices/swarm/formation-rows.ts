import type { Kysely, Selectable } from 'kysely'
import type { SealedTrx } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import type { FormationRow } from './formation.table.ts'
import {
  type FormationPart,
  type FormationState,
  OPEN_FORMATION_STATES,
  type StartedFormation,
  type UnitOutcome,
} from './formation.ts'

type Reader = Pick<Kysely<LedgerTables>, 'selectFrom'>

export const insertFormation = async (trx: SealedTrx, one: StartedFormation): Promise<void> => {
  await trx
    .insertInto('formations')
    .values({
      id: one.id,
      tenant_id: one.tenantId,
      request_id: one.requestId,
      formation: one.formation,
      state: one.state,
      plan_json: JSON.stringify(one.plan),
      created_by: one.createdBy,
      units: one.plan.units.length,
      created_at: one.createdAt,
      start_at: one.startAt,
      ends_at: one.endsAt,
      changed_at: one.changedAt,
      ended_at: null,
      reason: null,
      stopped_by: null,
      outcome_json: null,
    })
    .execute()
  for (const { cellId, partHash, commandId } of one.parts)
    await trx
      .insertInto('formation_parts')
      .values({
        formation_id: one.id,
        cell_id: cellId,
        part_hash: partHash,
        command_id: commandId,
      })
      .execute()
}

interface FormationChange {
  state: FormationState
  at: number
  reason?: string | undefined
  stoppedBy?: string | undefined
  outcome?: readonly UnitOutcome[]
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
    .set({
      state,
      changed_at: at,
      ...(reason !== undefined && { reason: reason.slice(0, 500).toWellFormed() }),
      ...(stoppedBy !== undefined && { stopped_by: stoppedBy }),
      ...(outcome !== undefined && { outcome_json: JSON.stringify(outcome), ended_at: at }),
    })
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

/** Newest first. */
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
  rows: readonly Selectable<FormationRow>[],
): Promise<StartedFormation[]> => {
  if (rows.length === 0) return []
  const ids = rows.map(({ id }) => id)
  const query = db.selectFrom('formation_parts').selectAll().where('formation_id', 'in', ids)
  const parts = Map.groupBy(await query.orderBy('cell_id').execute(), row => row.formation_id)
  return rows.map(row =>
    formationOf(
      row,
      (parts.get(row.id) ?? []).map(part => ({
        cellId: part.cell_id,
        partHash: part.part_hash,
        commandId: part.command_id,
      })),
    ),
  )
}

const formationOf = (row: FormationRow, parts: readonly FormationPart[]): StartedFormation => ({
  id: row.id,
  tenantId: row.tenant_id,
  requestId: row.request_id,
  formation: row.formation,
  state: row.state as FormationState,
  plan: JSON.parse(row.plan_json),
  createdBy: row.created_by,
  createdAt: row.created_at,
  startAt: row.start_at,
  endsAt: row.ends_at,
  changedAt: row.changed_at,
  endedAt: row.ended_at ?? undefined,
  reason: row.reason ?? undefined,
  stoppedBy: row.stopped_by ?? undefined,
  outcome: row.outcome_json === null ? undefined : JSON.parse(row.outcome_json),
  parts,
})
