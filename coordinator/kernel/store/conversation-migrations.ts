import type { Kysely } from 'kysely'

export const conversationTables = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('conversations')
    .addColumn('seq', 'bigint', column => column.primaryKey().notNull())
    .addColumn('id', 'text', column => column.notNull().unique())
    .addColumn('tenant_id', 'text', column => column.notNull().references('tenants.id'))
    .addColumn('title', 'text', column => column.notNull())
    .addColumn('participants_json', 'text', column => column.notNull())
    .addColumn('auto_route', 'integer', column => column.notNull())
    .addColumn('created_by', 'text', column => column.notNull())
    .addColumn('created_at', 'bigint', column => column.notNull())
    .addColumn('changed_at', 'bigint', column => column.notNull())
    .addColumn('messages', 'bigint', column => column.notNull())
    .addColumn('tokens', 'bigint', column => column.notNull())
    .execute()
  const conversations = (name: string) =>
    schema.createIndex(`conversations_${name}`).on('conversations')
  await conversations('tenant').columns(['tenant_id', 'seq']).execute()
  await conversations('changed').column('changed_at').execute()
  await schema
    .createTable('conversation_messages')
    .addColumn('id', 'text', column => column.notNull().unique())
    .addColumn('conversation_id', 'text', column =>
      column.notNull().references('conversations.id').onDelete('cascade'),
    )
    .addColumn('seq', 'bigint', column => column.notNull())
    .addColumn('sender', 'text', column => column.notNull())
    .addColumn('content', 'text', column => column.notNull())
    .addColumn('at', 'bigint', column => column.notNull())
    .addColumn('state', 'text', column => column.notNull())
    .addColumn('reason', 'text')
    .addColumn('in_reply_to', 'text')
    .addPrimaryKeyConstraint('conversation_messages_key', ['conversation_id', 'seq'])
    .execute()
  await schema
    .createIndex('conversation_messages_state')
    .on('conversation_messages')
    .column('state')
    .execute()
}

/** Adds the process that answers a message. */
export const conversationWorkers = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema.alterTable('conversation_messages').addColumn('worker', 'text').execute()
}
