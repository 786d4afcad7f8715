import * as z from 'zod'
import { flag, integer, json, reference, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type RowOf, type TableOf } from '../../kernel/store/define-table.ts'

/** Conversation between several participants. */
export const conversationTable = defineTable('conversations', {
  columns: {
    /** Counts up: lists go by it. */
    seq: integer(),
    id: text(),
    tenant_id: reference('tenants'),
    title: text(),
    participants_json: json(z.unknown()),
    /** 0 or 1. */
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

export type ConversationRow = RowOf<typeof conversationTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    conversations: TableOf<typeof conversationTable>
  }
}
