import * as z from 'zod'
import { PAGE } from '../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { ConversationPage, listConversations } from './conversation-view.ts'

export default defineOperation({
  id: 'conversations-list',
  description: 'List the conversations of the tenant, newest first.',
  method: 'GET',
  path: '/a2a/conversations',
  access: 'key',
  effect: 'read',
  input: z.strictObject(PAGE),
  output: ConversationPage,
  run: listConversations,
})
