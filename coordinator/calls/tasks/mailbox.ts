import type { Kysely, Transaction } from 'kysely'
import { bumpRevision } from '../../kernel/store/revisions.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { type TaskMail, taskMailTable } from './task-mail.table.ts'

type Trx = Transaction<LedgerTables>

export type Mail = Omit<TaskMail, 'postedAt'>

/**
 * Posts mail to the owner of a task. Returns false, and keeps the existing mail, when there already
 * is mail of this kind. Mail stays until the owner stores its effect, in the same transaction.
 */
export const postMail = async (trx: SealedTrx, mail: Mail, at: number): Promise<boolean> => {
  const { numInsertedOrUpdatedRows: posted } = await trx
    .insertInto('task_mail')
    .values(taskMailTable.write({ ...mail, postedAt: at }))
    .onConflict(clause => clause.columns(['task_id', 'kind']).doNothing())
    .executeTakeFirstOrThrow()
  await bumpRevision(trx, 'tasks')
  return posted === 1n
}

/** Reads the mail of a task in order of precedence: a cancellation overrides all other mail. */
export const readMail = async (db: Kysely<LedgerTables>, taskId: string): Promise<Mail[]> => {
  const rows = await db
    .selectFrom('task_mail')
    .selectAll()
    .where('task_id', '=', taskId)
    .orderBy('kind')
    .execute()
  return rows.map(taskMailTable.read)
}

export const dropMail = async (trx: Trx, taskId: string): Promise<void> => {
  await trx.deleteFrom('task_mail').where('task_id', '=', taskId).execute()
}

export const dropOne = async (trx: Trx, { taskId, kind }: Mail): Promise<void> => {
  await trx.deleteFrom('task_mail').where('task_id', '=', taskId).where('kind', '=', kind).execute()
}
