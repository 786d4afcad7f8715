export interface ConversationTables {
  conversations: ConversationRow
  conversation_messages: ConversationMessageRow
}

/** Conversation between several participants. */
export interface ConversationRow {
  /** Counts up: lists go by it. */
  seq: number
  id: string
  tenant_id: string
  title: string
  participants_json: string
  /** 0 or 1. */
  auto_route: number
  created_by: string
  created_at: number
  /** Time of the last message. */
  changed_at: number
  /** Messages so far. */
  messages: number
  /** Prompt and completion tokens of its models so far. */
  tokens: number
}

/** One message; `coordinator/agents/conversations/conversation.ts` says what its columns mean. */
export interface ConversationMessageRow {
  id: string
  conversation_id: string
  /** Counts up from 1 in its conversation. */
  seq: number
  sender: string
  content: string
  at: number
  state: string
  reason: string | null
  in_reply_to: string | null
  /** The process that answers it, or has answered it. */
  worker: string | null
}
