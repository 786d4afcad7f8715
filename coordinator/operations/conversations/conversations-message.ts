import * as z from 'zod'
import { defineOperation } from '../operation.ts'
import {
  CONVERSATION_PATH,
  Content,
  ExchangeView,
  sendMessage,
  ToldView,
} from './conversation-view.ts'

export default defineOperation({
  id: 'conversations-message',
  description: 'Say something in a conversation and get what those answer whom it names.',
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
      .describe('Not needed; taken so that the input of the skill fits here too.'),
    content: Content.describe('`@id` names who is to answer; a skill takes JSON behind it.'),
  }),
  examples: [{ content: '@model-a:7b What is a cell?' }],
  output: ExchangeView,
  events: ToldView,
  run: sendMessage,
})
