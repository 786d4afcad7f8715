import { integer, oneOf, optional, reference, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'
import { MESSAGE_STATES } from './conversation.ts'

/** One message of a conversation. */
export const conversationMessageTable = defineTable('conversation_messages', {
  columns: {
    id: text(),
    conversation_id: reference('conversations', { onDelete: 'cascade' }),
    /** Counts up from 1 in its conversation. */
    seq: integer(),
    /** Id of a participant, of the person whose key sent it, or `system`. */
    sender: text(),
    content: text(),
    at: time(),
    state: oneOf(MESSAGE_STATES),
    /** Reason for the failure or cancellation. */
    reason: optional(text()),
    /** Id of the message it answers. */
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

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    conversation_messages: TableOf<typeof conversationMessageTable>
  }
}
