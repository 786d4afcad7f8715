import * as z from 'zod'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import {
  ConversationDetails,
  createConversation,
  Participants,
  Title,
} from './conversation-view.ts'

export default defineOperation({
  id: 'conversations-create',
  description: 'Create a conversation between people, models, skills and agents.',
  method: 'POST',
  path: '/a2a/conversations',
  access: 'key',
  effect: 'write',
  status: 201,
  input: z.strictObject({
    action: z
      .literal('create')
      .exactOptional()
      .describe("Ignored; accepted so that the skill's input is valid here too."),
    title: Title.exactOptional(),
    participants: Participants,
    auto_route: z
      .boolean()
      .default(false)
      .describe(
        'Choose a participant for messages without a mention, and let models hand over to each other.',
      ),
  }),
  examples: [{ title: 'Planning', participants: [{ id: 'model-a:7b', type: 'model' }] }],
  output: ConversationDetails,
  run: createConversation,
})
