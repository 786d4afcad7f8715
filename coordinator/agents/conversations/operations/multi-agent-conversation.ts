import * as z from 'zod'
import { ShoalError } from '../../../../shared/errors.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { Id, PAGE } from '../../../kernel/declaration/fields.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import type { ConversationViews } from '../conversation-views.ts'
import {
  ConversationDetails,
  ConversationView,
  createConversation,
  type ExchangeView,
  listConversations,
  MESSAGE_SUCCESS,
  MessageContent,
  MessageView,
  Participants,
  sendConversationMessage,
  showConversation,
  Title,
  ToldView,
} from './conversation-view.ts'

const PATH = '/a2a/conversations'
const { limit } = PAGE

export default defineSkill({
  id: 'multi-agent-conversation',
  group: 'agents',
  name: 'Multi-agent conversation',
  description:
    'Hold a conversation between people, models, skills and remote agents: create one, send a message to it, get it, or list all.',
  tags: ['agents', 'conversation'],
  access: 'key',
  effect: 'write',
  openWorld: true,
  timeoutSeconds: 110,
  input: z.strictObject({
    action: z.enum(['create', 'message', 'get', 'list']),
    title: Title.exactOptional(),
    participants: Participants.exactOptional().describe('Participants; for action create.'),
    conversation_id: Id.exactOptional().describe(
      'Id of the conversation; for actions message and get.',
    ),
    content: MessageContent.exactOptional().describe(
      'Text of the message; for action message. `@id` mentions the participant that should answer.',
    ),
    auto_route: z
      .boolean()
      .default(false)
      .describe(
        'Choose a participant for messages without a mention, and let models hand over to each other.',
      ),
  }),
  output: z.object({
    action: z.enum(['create', 'message', 'get', 'list']),
    conversation: ConversationDetails.exactOptional().describe(
      'The conversation; for actions create and get.',
    ),
    conversations: z
      .array(ConversationView)
      .exactOptional()
      .describe('The newest conversations; for action list.'),
    conversation_id: z.string().exactOptional(),
    message: MessageView.exactOptional().describe('The sent message; for action message.'),
    replies: z.array(MessageView).exactOptional(),
  }),
  success: MESSAGE_SUCCESS,
  events: ToldView,
  examples: [
    { action: 'create', participants: [{ id: 'model-a:7b', type: 'model' }], auto_route: true },
    { action: 'list' },
  ],
  card: {
    examples: [
      'Create a conversation with model-a:7b and model-b:3b about the night shift',
      'Ask @vram-guard in conversation conv_01 which cells are short of memory',
    ],
    endpoints: {
      create: PATH,
      list: PATH,
      get: `${PATH}/{id}`,
      message: `${PATH}/{id}/message`,
    },
  },
  run: async (input, context: Context & ConversationViews) => {
    const { action, title, auto_route } = input
    const newest = { limit: limit.parse(undefined) }
    if (action === 'create') {
      const participants = requireField(input.participants, 'participants')
      const wanted = { participants, auto_route, ...(title === undefined ? {} : { title }) }
      return { action, conversation: await createConversation(wanted, context) }
    }
    if (action === 'list') {
      const { conversations } = await listConversations(newest, context)
      return { action, conversations }
    }
    const conversation_id = requireField(input.conversation_id, 'conversation_id')
    if (action === 'get')
      return {
        action,
        conversation: await showConversation({ conversation_id, ...newest }, context),
      }
    const content = requireField(input.content, 'content')
    const sent: z.input<typeof ExchangeView> = await sendConversationMessage(
      { conversation_id, content, auto_route },
      context,
    )
    return { action, ...sent }
  },
})

const requireField = <T>(value: T | undefined, param: string): T => {
  if (value !== undefined) return value
  throw new ShoalError('invalid_request', `${param} is missing for this action`, { param })
}
