import * as z from 'zod'

/** `person` is never answered for; `agent` is one of somebody else's, spoken to over A2A. */
export const PARTICIPANT_TYPES = ['person', 'model', 'skill', 'agent'] as const

/** Writes what the coordinator has to say itself. */
export const SYSTEM = 'system'

const ID = /^[a-z0-9](?:[a-z0-9._:/-]{0,62}[a-z0-9])?$/i

/** One who takes part; `@id` in a message means this one. */
export const Participant = z.strictObject({
  id: z
    .string()
    .regex(ID, 'is no id: letters, digits and . _ : / - between them, at most 64')
    .describe('Of a model or a skill its own id; else of your choice.'),
  type: z.enum(PARTICIPANT_TYPES),
  name: z.string().min(1).max(100).exactOptional(),
  url: z
    .string()
    .max(2048)
    .exactOptional()
    .describe('Of an agent: the address of its card. Its host must be in conversations.agents.'),
})
export type Participant = z.output<typeof Participant>

export interface Conversation {
  id: string
  tenantId: string
  title: string
  participants: readonly Participant[]
  /** Who answers is chosen where a message names nobody, and models may hand on. */
  autoRoute: boolean
  createdAt: number
  changedAt: number
  /** Messages so far. */
  messages: number
  /** Tokens that its models were asked and have answered. */
  tokens: number
}

/**
 * `answering` while replies are made, `done` with them, `failed` where none came or the reply
 * itself is no answer, `cancelled` when the caller left.
 */
export const MESSAGE_STATES = ['answering', 'done', 'failed', 'cancelled'] as const
export type MessageState = (typeof MESSAGE_STATES)[number]

export interface Message {
  id: string
  conversationId: string
  /** Counts up from 1 in its conversation. */
  seq: number
  /** Id of a participant, of the person whose key sent it, or `system`. */
  from: string
  content: string
  at: number
  state: MessageState
  /** Why it failed or was cancelled. */
  reason: string | undefined
  /** Id of the message it answers. */
  inReplyTo: string | undefined
}
