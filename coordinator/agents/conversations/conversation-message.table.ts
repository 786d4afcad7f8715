import { integer, optional, reference, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type RowOf, type TableOf } from '../../kernel/store/define-table.ts'

/** One message; `coordinator/agents/conversations/conversation.ts` says what its columns mean. */
export const conversationMessageTable = defineTable('conversation_messages', {
  columns: {
    id: text(),
    conversation_id: reference('conversations', { onDelete: 'cascade' }),
    /** Counts up from 1 in its conversation. */
    seq: integer(),
    sender: text(),
    content: text(),
    at: time(),
    state: text(),
    reason: optional(text()),
    in_reply_to: optional(text()),
    /** The process that answers it, or has answered it. */
    worker: optional(text()),
  },
  key: ['conversation_id', 'seq'],
  unique: [['id']],
  indexes: {
    conversation_messages_state: ['state'],
  },
})

export type ConversationMessageRow = RowOf<typeof conversationMessageTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    conversation_messages: TableOf<typeof conversationMessageTable>
  }
}
