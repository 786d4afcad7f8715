import { createHash } from 'node:crypto'
import { Message } from '@a2a-js/sdk'
import type { Kysely } from 'kysely'
import { ShoalError } from '../../../shared/errors.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'

/** Digest of a message, including the task and context it belongs to. */
const digestOf = (message: Message): string =>
  createHash('sha256')
    .update(JSON.stringify(Message.toJSON(message)))
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
  if (found === undefined || found.digest === digestOf(message)) return found?.task_id
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
  const row = {
    key_id: keyId,
    message_id: message.messageId,
    task_id: taskId,
    digest: digestOf(message),
  }
  await trx.insertInto('task_messages').values(row).execute()
  return undefined
}
