import { Message } from '@a2a-js/sdk'
import type { Kysely, Transaction } from 'kysely'
import { bumpRevision } from '../../kernel/store/revisions.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import type { TaskMailRow } from './task-mail.table.ts'
import type { TaskRun } from './task-run.ts'

type Trx = Transaction<LedgerTables>

/** Call and key of a message to a task; the next turn executes the call. */
export type AskedRun = Pick<
  TaskRun,
  'operationId' | 'input' | 'cellId' | 'audited' | 'keyId' | 'requestId'
>

export interface Mail {
  taskId: string
  tenantId: string
  kind: TaskMailRow['kind']
  actor: string
  /** Message of mail of the kind `message`; otherwise undefined. */
  sent?: { message: Message; run: AskedRun } | undefined
}

/**
 * Posts mail to the owner of a task. Returns false, and keeps the existing mail, when there already
 * is mail of this kind. Mail stays until the owner stores its effect, in the same transaction.
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

/** Reads the mail of a task in order of precedence: a cancellation overrides all other mail. */
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
