import { createHash } from 'node:crypto'
import type { Kysely } from 'kysely'
import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { Message } from './task.ts'
import { taskMessageTable } from './task-message.table.ts'

/** Digest of a message in its stored form, including the task and context it belongs to. */
const digestOf = (message: Message): string =>
  createHash('sha256')
    .update(JSON.stringify(z.encode(Message, message)))
    .digest('hex')

/**
 * Returns the id of the task that accepted the same message before. Throws `invalid_request` when
 * the message id was used for another message.
 */
export const findAcceptedTask = async (
  db: Kysely<LedgerTables>,
  keyId: string,
  message: Message,
): Promise<string | undefined> => {
  const found = await db
    .selectFrom('task_messages')
    .selectAll()
    .where('key_id', '=', keyId)
    .where('message_id', '=', message.messageId)
    .executeTakeFirst()
  if (found === undefined) return undefined
  const { digest, taskId } = taskMessageTable.read(found)
  if (digest === digestOf(message)) return taskId
  throw new ShoalError('invalid_request', 'this messageId was used for another message', {
    param: 'message.messageId',
  })
}

/**
 * Records that a task accepts a message of a key. Returns the id of the task that accepted the same
 * message before, undefined the first time (A2A specification 1.0, section 3.3.1). Throws
 * `invalid_request` when the message id was used for another message.
 */
export const claimMessage = async (
  trx: SealedTrx,
  keyId: string,
  message: Message,
  taskId: string,
): Promise<string | undefined> => {
  const found = await findAcceptedTask(trx, keyId, message)
  if (found !== undefined) return found
  const { messageId } = message
  const row = taskMessageTable.write({ keyId, messageId, taskId, digest: digestOf(message) })
  await trx.insertInto('task_messages').values(row).execute()
  return undefined
}
