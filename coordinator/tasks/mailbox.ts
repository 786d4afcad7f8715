import { Message } from '@a2a-js/sdk'
import type { Kysely, Transaction } from 'kysely'
import { bumpRevision } from '../store/revisions.ts'
import type { SealedTrx } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'
import type { TaskMailRow } from '../store/task-tables.ts'
import type { TaskRun } from './task-run.ts'

type Trx = Transaction<LedgerTables>

/** The call that a message asks for, and its key; the next turn carries it out. */
export type AskedRun = Pick<
  TaskRun,
  'operationId' | 'input' | 'cellId' | 'audited' | 'keyId' | 'requestId'
>

export interface Mail {
  taskId: string
  tenantId: string
  kind: TaskMailRow['kind']
  actor: string
  /** The message, for mail of the kind `message`. */
  sent?: { message: Message; run: AskedRun } | undefined
}

/**
 * Leaves mail for the owner of a task. False when there is mail of this kind already, which then
 * stays as it is. The mail stays until the owner stores its effect, in the same transaction.
 */
export const postMail = async (trx: SealedTrx, mail: Mail, at: number): Promise<boolean> => {
  const { numInsertedOrUpdatedRows: posted } = await trx
    .insertInto('task_mail')
    .values(rowOf(mail, at))
    .onConflict(clause => clause.columns(['task_id', 'kind']).doNothing())
    .executeTakeFirstOrThrow()
  await bumpRevision(trx, 'tasks')
  return posted === 1n
}

/** Mail of one task, in the order in which it counts: a cancellation makes all other void. */
export const readMail = async (db: Kysely<LedgerTables>, taskId: string): Promise<Mail[]> => {
  const rows = await db
    .selectFrom('task_mail')
    .selectAll()
    .where('task_id', '=', taskId)
    .orderBy('kind')
    .execute()
  return rows.map(mailOf)
}

export const dropMail = async (trx: Trx, taskId: string): Promise<void> => {
  await trx.deleteFrom('task_mail').where('task_id', '=', taskId).execute()
}

export const dropOne = async (trx: Trx, { taskId, kind }: Mail): Promise<void> => {
  await trx.deleteFrom('task_mail').where('task_id', '=', taskId).where('kind', '=', kind).execute()
}

const rowOf = ({ taskId, tenantId, kind, actor, sent }: Mail, at: number): TaskMailRow => ({
  task_id: taskId,
  kind,
  tenant_id: tenantId,
  actor,
  body_json:
    sent === undefined
      ? null
      : JSON.stringify({ message: Message.toJSON(sent.message), run: sent.run }),
  posted_at: at,
})

const mailOf = (row: TaskMailRow): Mail => {
  const { task_id: taskId, tenant_id: tenantId, kind, actor, body_json } = row
  if (body_json === null) return { taskId, tenantId, kind, actor }
  const { message, run } = JSON.parse(body_json) as { message: unknown; run: AskedRun }
  return { taskId, tenantId, kind, actor, sent: { message: Message.fromJSON(message), run } }
}
