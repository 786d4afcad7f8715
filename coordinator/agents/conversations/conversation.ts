import * as z from 'zod'
import type { EntityOf } from '../../kernel/store/define-table.ts'
import type { conversationTable } from './conversation.table.ts'
import type { conversationMessageTable } from './conversation-message.table.ts'

/**
 * Types of participants. A `person` never answers automatically; an `agent` is external and called
 * over A2A.
 */
const PARTICIPANT_TYPES = ['person', 'model', 'skill', 'agent'] as const

/** Sender of the coordinator's own messages. */
export const SYSTEM = 'system'

const ID = /^[a-z0-9](?:[a-z0-9._:/-]{0,62}[a-z0-9])?$/i

/** Participant of a conversation, mentioned in messages as `@id`. */
export const Participant = z.strictObject({
  id: z
    .string()
    .regex(ID, 'is not an id: letters, digits and . _ : / - between them, at most 64')
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

export type Conversation = EntityOf<typeof conversationTable>

/**
 * States of a message: `answering` while replies are created, `done` with replies, `failed` without
 * a reply or for a reply that is a failure note, `cancelled` when the caller disconnected.
 */
export const MESSAGE_STATES = ['answering', 'done', 'failed', 'cancelled'] as const
export type MessageState = (typeof MESSAGE_STATES)[number]

export type Message = EntityOf<typeof conversationMessageTable>
