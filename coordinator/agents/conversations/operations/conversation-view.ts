import * as z from 'zod'
import type { SuccessRule } from '../../../../shared/success-rule.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineView, own } from '../../../kernel/declaration/define-view.ts'
import { Id } from '../../../kernel/declaration/fields.ts'
import { conversationTable } from '../conversation.table.ts'
import { type Conversation, type Message, Participant } from '../conversation.ts'
import { conversationMessageTable } from '../conversation-message.table.ts'
import type { ConversationViews } from '../conversation-views.ts'
import type { ExchangeEvent } from '../exchange.ts'

const messageView = defineView(conversationMessageTable, {
  id: true,
  from: own(
    z.string().describe('Id of the sending participant or person; `system` is the coordinator.'),
    ({ sender }: Message) => sender,
  ),
  content: true,
  at: true,
  state:
    'State of the message. `failed` and `cancelled` have a reason; `answering` expects more replies.',
  reason: true,
  in_reply_to: 'Id of the message that this one answers.',
})
export const MessageView = messageView.schema

const conversationView = defineView(conversationTable, {
  id: true,
  title: true,
  participants: true,
  auto_route: true,
  created_at: true,
  changed_at: 'Time of the last message.',
  message_count: own(z.int(), ({ messages }: Conversation) => messages),
  tokens: "Prompt and completion tokens of the conversation's models.",
})
export const ConversationView = conversationView.schema

export const ConversationDetails = ConversationView.extend({
  messages: z.array(MessageView).describe('Messages, oldest first.'),
  next: z.string().nullable().describe('Value of `before` for the page of older messages.'),
})

export const ConversationPage = z.object({
  conversations: z.array(ConversationView).describe('Conversations, newest first.'),
  next: z.string().nullable().describe('Value of `before` for the next page.'),
})

export const ExchangeView = z.object({
  conversation_id: z.string(),
  message: MessageView.describe('The sent message, as it is stored.'),
  replies: z.array(MessageView),
})

/** Rule of an answer that may have a sent message: a participant has answered it. */
export const MESSAGE_SUCCESS: SuccessRule = {
  field: 'message.state',
  codes: { done: 0, undefined: 0, answering: 75, failed: 69, cancelled: 69 },
}

/** Data of the events `message` and `delta` of a stream. */
export const ToldView = z.union([
  MessageView,
  z.object({ from: z.string(), delta: z.string().describe('Piece of the next message.') }),
])

export const CONVERSATION_PATH = { conversation_id: Id }

const MAX_TITLE_CHARS = 200
export const Title = z.string().min(1).max(MAX_TITLE_CHARS).describe('Title of the conversation.')
export const MessageContent = z.string().min(1).max(200_000)
export const Participants = z
  .array(Participant)
  .min(1)
  .max(200)
  .describe('Participants of the conversation: `[{"id":"model-a:7b","type":"model"}]`.')
const UNTITLED = 'Conversation'

interface Wanted {
  title?: string
  participants: z.output<typeof Participants>
  auto_route: boolean
}

interface Page {
  before?: string
  limit: number
}

/* The four things that can be asked, for the routes and for the skill. */

export const createConversation = async (
  { title = UNTITLED, participants, auto_route }: Wanted,
  context: Context & ConversationViews,
): Promise<z.input<typeof ConversationDetails>> => {
  const wanted = { title, participants, autoRoute: auto_route }
  const conversation = await context.conversations.create(wanted, context)
  return { ...conversationView.of(conversation), messages: [], next: null }
}

export const listConversations = async (
  page: Page,
  context: Context & ConversationViews,
): Promise<z.input<typeof ConversationPage>> => {
  const { conversations, next } = await context.conversations.list(page, context)
  return { conversations: conversations.map(conversationView.of), next: next ?? null }
}

export const showConversation = async (
  { conversation_id, ...page }: Page & { conversation_id: string },
  context: Context & ConversationViews,
): Promise<z.input<typeof ConversationDetails>> => {
  const found = await context.conversations.get(conversation_id, page, context)
  const [oldest] = found.messages
  return {
    ...conversationView.of(found.conversation),
    messages: found.messages.map(messageView.of),
    next: oldest !== undefined && oldest.seq > 1 ? oldest.id : null,
  }
}

export const sendConversationMessage = async (
  asked: { conversation_id: string; content: string; auto_route?: boolean },
  context: Context & ConversationViews,
): Promise<z.input<typeof ExchangeView>> => {
  const { conversation_id, content, auto_route: autoRoute = false } = asked
  const tell = (told: ExchangeEvent): Promise<void> | void => {
    const event = eventOf(told)
    if (context.tell !== undefined) return context.tell(event)
    // tasks keep whole messages, without the partial ones
    if (told.event === 'message') return context.progress({ data: event.data })
  }
  const { message, replies } = await context.conversations.send(
    conversation_id,
    { content, autoRoute, tell },
    context,
  )
  return {
    conversation_id,
    message: messageView.of(message),
    replies: replies.map(messageView.of),
  }
}

const eventOf = (told: ExchangeEvent): { event: string; data: z.input<typeof ToldView> } =>
  told.event === 'message'
    ? { event: 'message', data: messageView.of(told.message) }
    : { event: 'delta', data: { from: told.from, delta: told.text } }
