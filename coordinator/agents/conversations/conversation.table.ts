import * as z from 'zod'
import { flag, integer, json, reference, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'
import { Participant } from './conversation.ts'

/** Conversation between several participants. */
export const conversationTable = defineTable('conversations', {
  columns: {
    /** Counts up: lists go by it. */
    seq: integer(),
    id: text(),
    tenant_id: reference('tenants'),
    title: text(),
    participants_json: json(z.array(Participant)),
    /** True when a participant is chosen for messages that name none, and models may hand on. */
    auto_route: flag(),
    created_by: text(),
    created_at: time(),
    /** Time of the last message. */
    changed_at: time(),
    /** Messages so far. */
    messages: integer(),
    /** Prompt and completion tokens of its models so far. */
    tokens: integer(),
  },
  key: ['seq'],
  unique: [['id']],
  indexes: {
    conversations_tenant: ['tenant_id', 'seq'],
    conversations_changed: ['changed_at'],
  },
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    conversations: TableOf<typeof conversationTable>
  }
}
