import * as z from 'zod'
import { AllowList } from '../../../shared/outbound/allow-list.ts'
import { AgentCredential } from './agent-credentials.ts'

/** Limits and costs of conversations, and the external agents that may participate. */
export const ConversationsConfig = z.strictObject({
  max_turns: z
    .int()
    .min(1)
    .max(100)
    .default(4)
    .describe('Answers to one message, handing on between participants included.'),
  max_participants: z.int().min(1).max(200).default(16).describe('Of one conversation.'),
  max_content_chars: z.int().min(1).max(200_000).default(32_000).describe('Of one message.'),
  max_messages: z.int().min(1).max(1_000_000).default(2000).describe('Of one conversation.'),
  max_per_tenant: z.int().min(1).max(10_000_000).default(10_000).describe('Of one tenant.'),
  max_waiting: z
    .int()
    .min(0)
    .max(1000)
    .default(8)
    .describe('Messages that wait in one conversation while another is answered.'),
  max_tokens: z
    .int()
    .min(1)
    .default(500_000)
    .describe('Prompt and answer tokens of all models in one conversation together.'),
  max_cost_eur: z
    .number()
    .positive()
    .optional()
    .describe('What one conversation may cost by eur_per_million_tokens; no limit by default.'),
  eur_per_million_tokens: z
    .number()
    .min(0)
    .default(0)
    .describe('What a million tokens cost, for max_cost_eur.'),
  reply_tokens: z.int().min(1).max(100_000).default(512).describe('Maximum tokens of one answer.'),
  message_seconds: z
    .number()
    .positive()
    .max(100)
    .default(90)
    .describe('Time limit for answering one message.'),
  agents: AllowList.describe(
    'Remote A2A agents that may take part, by host and port: `agents.acme-corp.com:443`. ' +
      'A private one must be in outbound.allow too.',
  ),
  agent_credentials: z
    .array(AgentCredential)
    .max(1000)
    .default([])
    .describe('Credentials of this service at remote agents that require them.'),
  agent_seconds: z
    .number()
    .positive()
    .max(100)
    .default(60)
    .describe('Longest time until a remote agent begins to answer.'),
  agent_answer_bytes: z
    .int()
    .min(1000)
    .max(4_000_000)
    .default(262_144)
    .describe('Largest card or answer of a remote agent that is read.'),
  retention_days: z
    .int()
    .min(0)
    .max(3650)
    .default(90)
    .describe('Conversations without a message for this time are deleted; 0: never.'),
})
export type ConversationsConfig = z.output<typeof ConversationsConfig>

/** Maximum number of tokens of a conversation, by count and by cost. */
export const tokenLimit = ({
  max_tokens,
  max_cost_eur,
  eur_per_million_tokens: price,
}: ConversationsConfig): number =>
  max_cost_eur === undefined || price === 0
    ? max_tokens
    : Math.min(max_tokens, Math.floor((max_cost_eur / price) * 1_000_000))
