import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import {
  Content,
  ConversationDetails,
  ConversationView,
  createConversation,
  type ExchangeView,
  listConversations,
  MessageView,
  Participants,
  sendMessage,
  showConversation,
  Title,
  ToldView,
} from '../../operations/conversations/conversation-view.ts'
import { Id, PAGE } from '../../operations/fields.ts'
import { defineSkill } from '../skill.ts'

const PATH = '/a2a/conversations'
const { limit } = PAGE

export default defineSkill({
  id: 'multi-agent-conversation',
  name: 'Multi-agent conversation',
  description:
    'Hold a conversation between people, models, skills and remote agents: create one, say something in it, get it, list them.',
  tags: ['agents', 'conversation'],
  access: 'key',
  effect: 'write',
  openWorld: true,
  timeoutSeconds: 110,
  input: z.strictObject({
    action: z.enum(['create', 'message', 'get', 'list']),
    title: Title.exactOptional(),
    participants: Participants.exactOptional().describe('For create.'),
    conversation_id: Id.exactOptional().describe('For message and get.'),
    content: Content.exactOptional().describe('For message: `@id` names who is to answer.'),
    auto_route: z
      .boolean()
      .default(false)
      .describe('Choose who answers where a message names nobody, and let models hand on.'),
  }),
  output: z.object({
    action: z.enum(['create', 'message', 'get', 'list']),
    conversation: ConversationDetails.exactOptional().describe('Of create and get.'),
    conversations: z.array(ConversationView).exactOptional().describe('Of list: the newest.'),
    conversation_id: z.string().exactOptional(),
    message: MessageView.exactOptional().describe('Of message: what was sent.'),
    replies: z.array(MessageView).exactOptional(),
  }),
  events: ToldView,
  examples: [
    { action: 'create', participants: [{ id: 'model-a:7b', type: 'model' }], auto_route: true },
    { action: 'list' },
  ],
  card: {
    examples: [
      'Begin a conversation with model-a:7b and model-b:3b about the night shift',
      'Ask @vram-guard in conversation conv_01 which cells are short of memory',
    ],
    endpoints: {
      create: PATH,
      list: PATH,
      get: `${PATH}/{id}`,
      message: `${PATH}/{id}/message`,
    },
  },
  run: async (input, context) => {
    const { action, title, auto_route } = input
    const newest = { limit: limit.parse(undefined) }
    if (action === 'create') {
      const participants = needed(input.participants, 'participants')
      const wanted = { participants, auto_route, ...(title === undefined ? {} : { title }) }
      return { action, conversation: await createConversation(wanted, context) }
    }
    if (action === 'list') {
      const { conversations } = await listConversations(newest, context)
      return { action, conversations }
    }
    const conversation_id = needed(input.conversation_id, 'conversation_id')
    if (action === 'get')
      return {
        action,
        conversation: await showConversation({ conversation_id, ...newest }, context),
      }
    const content = needed(input.content, 'content')
    const sent: z.input<typeof ExchangeView> = await sendMessage(
      { conversation_id, content, auto_route },
      context,
    )
    return { action, ...sent }
  },
})

const needed = <T>(value: T | undefined, param: string): T => {
  if (value !== undefined) return value
  throw new ShoalError('invalid_request', `${param} is missing for this action`, { param })
}
