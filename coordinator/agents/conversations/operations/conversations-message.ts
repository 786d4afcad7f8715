import * as z from 'zod'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import {
  CONVERSATION_PATH,
  ExchangeView,
  MESSAGE_SUCCESS,
  MessageContent,
  sendConversationMessage,
  ToldView,
} from './conversation-view.ts'

export default defineOperation({
  id: 'conversations-message',
  description:
    'Send a message to a conversation and return the replies of the participants it mentions.',
  method: 'POST',
  path: '/a2a/conversations/{conversation_id}/message',
  access: 'key',
  effect: 'write',
  openWorld: true,
  status: 201,
  // longer than conversations.message_seconds may be
  timeoutSeconds: 110,
  input: z.strictObject({
    ...CONVERSATION_PATH,
    action: z
      .literal('message')
      .exactOptional()
      .describe("Ignored; accepted so that the skill's input is valid here too."),
    content: MessageContent.describe(
      'Text of the message. `@id` mentions the participant that should answer; a skill takes JSON after its mention.',
    ),
  }),
  examples: [{ content: '@model-a:7b What is a cell?' }],
  output: ExchangeView,
  success: MESSAGE_SUCCESS,
  events: ToldView,
  run: sendConversationMessage,
})
