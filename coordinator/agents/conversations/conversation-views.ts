import type { Context } from '../../kernel/declaration/context.ts'
import type { Conversations } from './conversations.ts'

/** Conversations, as operations see them. */
export interface ConversationViews {
  conversations: Omit<Conversations<Context>, 'close'>
}
