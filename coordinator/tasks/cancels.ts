import type { Kysely, Transaction } from 'kysely'
import { bumpRevision } from '../store/revisions.ts'
import type { LedgerTables } from '../store/tables.ts'
import type { TaskCancelRow } from '../store/task-tables.ts'

/** Asks the process that runs a task to end it; who asks first is who has cancelled it. */
export const askToCancel = async (
  trx: Transaction<LedgerTables>,
  row: TaskCancelRow,
): Promise<void> => {
  await trx
    .insertInto('task_cancels')
    .values(row)
    .onConflict(clause => clause.column('task_id').doNothing())
    .execute()
  await bumpRevision(trx, 'tasks')
}

export const readCancels = (db: Kysely<LedgerTables>): Promise<TaskCancelRow[]> =>
  db.selectFrom('task_cancels').selectAll().limit(1000).execute()

export const dropCancel = async (
  trx: Transaction<LedgerTables>,
  { task_id }: TaskCancelRow,
): Promise<void> => {
  await trx.deleteFrom('task_cancels').where('task_id', '=', task_id).execute()
}
