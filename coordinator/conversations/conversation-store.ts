import type { Kysely, Transaction } from 'kysely'
import * as z from 'zod'
import { ShoalError } from '../../shared/errors.ts'
import { newId } from '../../shared/ids.ts'
import type { ConversationMessageRow, ConversationRow } from '../store/conversation-tables.ts'
import { count } from '../store/count.ts'
import { nextSequence } from '../store/sequences.ts'
import type { SealedTrx } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'
import { isLeft } from '../tasks/lease.ts'
import { type Conversation, type Message, type MessageState, Participant } from './conversation.ts'

type Db = Kysely<LedgerTables>
type Trx = Transaction<LedgerTables>

const Participants = z.array(Participant)

const conversationOf = (row: ConversationRow): Conversation => ({
  id: row.id,
  tenantId: row.tenant_id,
  title: row.title,
  participants: Participants.parse(JSON.parse(row.participants_json)),
  autoRoute: row.auto_route === 1,
  createdAt: Number(row.created_at),
  changedAt: Number(row.changed_at),
  messages: Number(row.messages),
  tokens: Number(row.tokens),
})

const messageOf = (row: ConversationMessageRow): Message => ({
  id: row.id,
  conversationId: row.conversation_id,
  seq: Number(row.seq),
  from: row.sender,
  content: row.content,
  at: Number(row.at),
  state: row.state as MessageState,
  reason: row.reason ?? undefined,
  inReplyTo: row.in_reply_to ?? undefined,
})

export interface NewConversation {
  title: string
  participants: readonly Participant[]
  autoRoute: boolean
}

/** Throws `conflict` when the tenant has too many. */
export const addConversation = async (
  trx: SealedTrx,
  { title, participants, autoRoute }: NewConversation,
  { tenantId, by, at, most }: { tenantId: string; by: string; at: number; most: number },
): Promise<Conversation> => {
  const own = trx.selectFrom('conversations').where('tenant_id', '=', tenantId)
  if ((await count(own)) >= most)
    throw new ShoalError('conflict', `a tenant may have ${most} conversations`)
  const row: ConversationRow = {
    seq: await nextSequence(trx, 'conversations'),
    id: newId('conv', at),
    tenant_id: tenantId,
    title,
    participants_json: JSON.stringify(participants),
    auto_route: autoRoute ? 1 : 0,
    created_by: by,
    created_at: at,
    changed_at: at,
    messages: 0,
    tokens: 0,
  }
  await trx.insertInto('conversations').values(row).execute()
  return conversationOf(row)
}

const rowOf = async (db: Db, id: string, tenantId: string): Promise<ConversationRow> => {
  const row = await db
    .selectFrom('conversations')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst()
  if (row?.tenant_id === tenantId) return row
  throw new ShoalError('not_found', `no conversation ${id}`)
}

/** Throws `not_found`, also for one of another tenant. */
export const readConversation = async (
  db: Db,
  id: string,
  tenantId: string,
): Promise<Conversation> => conversationOf(await rowOf(db, id, tenantId))

export interface ListPage {
  /** The last id of the page before. */
  before?: string | undefined
  limit: number
}

/** Newest first. Throws `not_found` for a `before` that is not there. */
export const readConversations = async (
  db: Db,
  { before, limit }: ListPage,
  tenantId: string,
): Promise<Conversation[]> => {
  let query = db.selectFrom('conversations').selectAll().where('tenant_id', '=', tenantId)
  if (before !== undefined) query = query.where('seq', '<', (await rowOf(db, before, tenantId)).seq)
  return (await query.orderBy('seq', 'desc').limit(limit).execute()).map(conversationOf)
}

/** The newest before one, oldest first. Throws `not_found` for a `before` of another conversation. */
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
    if (found === undefined) throw new ShoalError('not_found', `no message ${before}`)
    query = query.where('seq', '<', found.seq)
  }
  const rows = await query.orderBy('seq', 'desc').limit(limit).execute()
  return rows.map(messageOf).toReversed()
}

export interface NewMessage {
  from: string
  content: string
  state: MessageState
  reason?: string | undefined
  inReplyTo?: string | undefined
  /** What it took to make it. */
  tokens?: number
  /** Chosen before it is stored; a new one when absent. */
  id?: string
  /** The process that answers it. */
  worker?: string
}

/** What the process that answers a message adds to it. */
export type TakenMessage = Pick<NewMessage, 'id' | 'worker'>

/** The next message of a conversation, which is to exist. */
export const addMessage = async (
  trx: Trx,
  conversationId: string,
  { id, from, content, state, reason, inReplyTo, tokens = 0, worker }: NewMessage,
  at: number,
): Promise<Message> => {
  const { messages } = await trx
    .updateTable('conversations')
    .set(({ eb }) => ({
      messages: eb('messages', '+', 1),
      tokens: eb('tokens', '+', tokens),
      changed_at: at,
    }))
    .where('id', '=', conversationId)
    .returning('messages')
    .executeTakeFirstOrThrow(() => new ShoalError('not_found', `no conversation ${conversationId}`))
  const row: ConversationMessageRow = {
    id: id ?? newId('msg', at),
    conversation_id: conversationId,
    seq: Number(messages),
    sender: from,
    content,
    at,
    state,
    reason: reason ?? null,
    in_reply_to: inReplyTo ?? null,
    worker: worker ?? null,
  }
  await trx.insertInto('conversation_messages').values(row).execute()
  return messageOf(row)
}

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
    .execute()
}

export interface LeftOver {
  /** This process, and what it answers. */
  worker: string
  underWay: ReadonlySet<string>
  now: number
  reason: string
}

/** Messages that nobody answers any more: of a process that has ended, or a disk that was full. */
export const failLeftOver = async (
  trx: Trx,
  { worker, underWay, now, reason }: LeftOver,
): Promise<void> => {
  let query = trx
    .updateTable('conversation_messages')
    .set({ state: 'failed', reason })
    .where('state', '=', 'answering')
    .where(isLeft('worker', { worker, now }))
  if (underWay.size > 0) query = query.where('id', 'not in', [...underWay])
  await query.execute()
}

/** Deletes some conversations in which nothing was said since; returns how many they were. */
export const deleteQuiet = async (trx: Trx, since: number, atMost: number): Promise<number> => {
  const quiet = trx
    .selectFrom('conversations')
    .select('id')
    .where('changed_at', '<', since)
    .limit(atMost)
  // with the condition again, so that one in which something is being said now stays
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
