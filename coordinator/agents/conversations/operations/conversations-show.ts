import * as z from 'zod'
import { PAGE } from '../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { CONVERSATION_PATH, ConversationDetails, showConversation } from './conversation-view.ts'

export default defineOperation({
  id: 'conversations-show',
  description: 'Show a conversation with its newest messages, or with those before a given one.',
  method: 'GET',
  path: '/a2a/conversations/{conversation_id}',
  access: 'key',
  effect: 'read',
  input: z.strictObject({ ...CONVERSATION_PATH, ...PAGE }),
  output: ConversationDetails,
  run: showConversation,
})
