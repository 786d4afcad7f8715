import type { Kysely, Transaction } from 'kysely'
import { ShoalError } from '../../../shared/errors.ts'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import { isLeft, type OwnerQuery } from '../../kernel/leases/ownership.ts'
import { countMatchingRows } from '../../kernel/store/count.ts'
import { nextSequence } from '../../kernel/store/sequences.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { conversationTable } from './conversation.table.ts'
import type { Conversation, Message, MessageState, Participant } from './conversation.ts'
import { conversationMessageTable } from './conversation-message.table.ts'

type Db = Kysely<LedgerTables>
type Trx = Transaction<LedgerTables>

export interface NewConversation {
  title: string
  participants: readonly Participant[]
  autoRoute: boolean
}

interface Addition {
  id: string
  tenantId: string
  by: string
  at: number
  most: number
}

/** Adds a conversation. Throws `conflict` when the tenant has too many. */
export const addConversation = async (
  trx: SealedTrx,
  { title, participants, autoRoute }: NewConversation,
  { id, tenantId, by, at, most }: Addition,
): Promise<Conversation> => {
  const own = trx.selectFrom('conversations').where('tenant_id', '=', tenantId)
  if ((await countMatchingRows(own)) >= most)
    throw new ShoalError('conflict', `a tenant may have ${most} conversations`)
  const conversation: Conversation = {
    seq: await nextSequence(trx, 'conversations'),
    id,
    tenantId,
    title,
    participants: [...participants],
    autoRoute,
    createdBy: by,
    createdAt: at,
    changedAt: at,
    messages: 0,
    tokens: 0,
  }
  await trx.insertInto('conversations').values(conversationTable.write(conversation)).execute()
  return conversation
}

/** Throws `not_found`, also for a conversation of another tenant. */
export const readConversation = async (
  db: Db,
  id: string,
  tenantId: string,
): Promise<Conversation> => {
  const query = db.selectFrom('conversations').selectAll().where('id', '=', id)
  const row = await query.where('tenant_id', '=', tenantId).executeTakeFirst()
  if (row !== undefined) return conversationTable.read(row)
  throw createUnknownError('conversation', id)
}

export interface ListPage {
  /** Last id of the previous page. */
  before?: string | undefined
  limit: number
}

/** Reads a page of conversations, newest first. Throws `not_found` for an unknown `before`. */
export const readConversations = async (
  db: Db,
  { before, limit }: ListPage,
  tenantId: string,
): Promise<Conversation[]> => {
  let query = db.selectFrom('conversations').selectAll().where('tenant_id', '=', tenantId)
  if (before !== undefined) {
    const { seq } = await readConversation(db, before, tenantId)
    query = query.where('seq', '<', seq)
  }
  const rows = await query.orderBy('seq', 'desc').limit(limit).execute()
  return rows.map(conversationTable.read)
}

/**
 * Reads the newest messages before `before`, oldest first. Throws `not_found` for a `before` of
 * another conversation.
 */
export const readMessages = async (
  db: Db,
  conversationId: string,
  { before, limit }: ListPage,
): Promise<Message[]> => {
  const messages = db
    .selectFrom('conversation_messages')
    .selectAll()
    .where('conversation_id', '=', conversationId)
  let query = messages
  if (before !== undefined) {
    const found = await messages.where('id', '=', before).executeTakeFirst()
    if (found === undefined) throw createUnknownError('message', before)
    query = query.where('seq', '<', found.seq)
  }
  const rows = await query.orderBy('seq', 'desc').limit(limit).execute()
  return rows.map(conversationMessageTable.read).toReversed()
}

export interface NewMessage {
  sender: string
  content: string
  state: MessageState
  reason?: string | undefined
  inReplyTo?: string | undefined
  /** Tokens used to create the message. */
  tokens?: number
  /** Number of messages that the conversation has; any by default. */
  seen?: number
}

/** The conversation has grown since it was read, or another process answers a message of it. */
export class ConversationBusyError extends Error {}

/** Fields that the storing process adds to a message. */
export interface TakenMessage {
  id: string
  /** Process that answers the message. */
  worker?: string
}

/**
 * Appends a message to a conversation. Throws `not_found` for an unknown conversation, and
 * `ConversationBusyError` for one that has not the messages that were `seen`.
 */
export const addMessage = async (
  trx: Trx,
  conversationId: string,
  {
    id,
    sender,
    content,
    state,
    reason,
    inReplyTo,
    tokens = 0,
    worker,
    seen,
  }: NewMessage & TakenMessage,
  at: number,
): Promise<Message> => {
  const query = trx
    .updateTable('conversations')
    .set(({ eb }) => ({
      messages: eb('messages', '+', 1),
      tokens: eb('tokens', '+', tokens),
      changed_at: at,
    }))
    .where('id', '=', conversationId)
    .returning('messages')
  const { messages } = await (seen === undefined
    ? query
    : query.where('messages', '=', seen)
  ).executeTakeFirstOrThrow(() =>
    seen === undefined
      ? createUnknownError('conversation', conversationId)
      : new ConversationBusyError(),
  )
  const message: Message = {
    id,
    conversationId,
    seq: messages,
    sender,
    content,
    at,
    state,
    reason,
    inReplyTo,
    worker,
  }
  const row = conversationMessageTable.write(message)
  await trx.insertInto('conversation_messages').values(row).execute()
  return message
}

/** Ends a message that is being answered; one that has ended stays as it is. */
export const settleMessage = async (
  trx: Trx,
  id: string,
  state: MessageState,
  reason: string | undefined,
): Promise<void> => {
  await trx
    .updateTable('conversation_messages')
    .set({ state, reason: reason ?? null })
    .where('id', '=', id)
    .where('state', '=', 'answering')
    .execute()
}

/**
 * Throws `conflict` when a message is no longer being answered, because its process counted as
 * gone. It locks the message, so that it cannot end otherwise in the same moment.
 */
export const requireAnswering = async (trx: Trx, id: string): Promise<void> => {
  const { numUpdatedRows } = await trx
    .updateTable('conversation_messages')
    .set({ state: 'answering' })
    .where('id', '=', id)
    .where('state', '=', 'answering')
    .executeTakeFirst()
  if (numUpdatedRows === 0n)
    throw new ShoalError('conflict', 'the answer arrived after the message had failed')
}

/** True while another live process answers a message of the conversation. */
export const isAnsweredElsewhere = async (
  db: Db,
  conversationId: string,
  looking: OwnerQuery,
): Promise<boolean> => {
  const row = await db
    .selectFrom('conversation_messages')
    .select('id')
    .where('conversation_id', '=', conversationId)
    .where('state', '=', 'answering')
    .where(({ not }) => not(isLeft('worker', looking)))
    .executeTakeFirst()
  return row !== undefined
}

interface LeftOverQuery {
  /** Id of this process, which ends its own messages itself. */
  worker: string
  now: number
  reason: string
}

/** Fails messages that are no longer being answered, as their process has ended. */
export const failLeftOver = async (
  trx: Trx,
  { worker, now, reason }: LeftOverQuery,
): Promise<void> => {
  await trx
    .updateTable('conversation_messages')
    .set({ state: 'failed', reason })
    .where('state', '=', 'answering')
    .where(isLeft('worker', { id: worker, now }))
    .where(({ eb, or }) => or([eb('worker', 'is', null), eb('worker', '!=', worker)]))
    .execute()
}

/** Ids of the messages that a process answers, as far as the store knows. */
export const listAnsweredBy = async (db: Db, worker: string): Promise<string[]> => {
  const rows = await db
    .selectFrom('conversation_messages')
    .select('id')
    .where('state', '=', 'answering')
    .where('worker', '=', worker)
    .execute()
  return rows.map(({ id }) => id)
}

/** Fails messages that are being answered; those that have ended stay as they are. */
export const failMessages = async (
  trx: Trx,
  ids: readonly string[],
  reason: string,
): Promise<void> => {
  await trx
    .updateTable('conversation_messages')
    .set({ state: 'failed', reason })
    .where('id', 'in', ids)
    .where('state', '=', 'answering')
    .execute()
}

/**
 * Deletes up to `atMost` conversations without changes since `since`; returns the number deleted.
 */
export const deleteQuiet = async (trx: Trx, since: number, atMost: number): Promise<number> => {
  const quiet = trx
    .selectFrom('conversations')
    .select('id')
    .where('changed_at', '<', since)
    .limit(atMost)
  // repeats the condition, so that a conversation with a concurrent message stays
  const deleted = await trx
    .deleteFrom('conversations')
    .where('id', 'in', quiet)
    .where('changed_at', '<', since)
    .returning('id')
    .execute()
  if (deleted.length === 0) return 0
  const ids = deleted.map(({ id }) => id)
  await trx.deleteFrom('conversation_messages').where('conversation_id', 'in', ids).execute()
  return deleted.length
}
