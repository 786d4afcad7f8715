import * as z from 'zod'
import { defineOperation } from '../operation.ts'
import {
  ConversationDetails,
  createConversation,
  Participants,
  Title,
} from './conversation-view.ts'

export default defineOperation({
  id: 'conversations-create',
  description: 'Begin a conversation between people, models, skills and agents.',
  method: 'POST',
  path: '/a2a/conversations',
  access: 'key',
  effect: 'write',
  status: 201,
  input: z.strictObject({
    action: z
      .literal('create')
      .exactOptional()
      .describe('Not needed; taken so that the input of the skill fits here too.'),
    title: Title.exactOptional(),
    participants: Participants,
    auto_route: z
      .boolean()
      .default(false)
      .describe('Choose who answers where a message names nobody, and let models hand on.'),
  }),
  examples: [{ title: 'Planning', participants: [{ id: 'model-a:7b', type: 'model' }] }],
  output: ConversationDetails,
  run: createConversation,
})
