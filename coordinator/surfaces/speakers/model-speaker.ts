import { AUTO_MODEL, type Catalogue } from '../../../shared/catalogue.ts'
import { ShoalError } from '../../../shared/errors.ts'
import type { Quota } from '../../access/quota/quota.ts'
import { modelsOfTier } from '../../access/quota/tier-models.ts'
import type { TierSettings } from '../../access/quota/tiers.ts'
import type { ConversationsConfig } from '../../agents/conversations/conversations-config.ts'
import {
  callerKey,
  type SpeakerReply,
  type SpeakerTurn,
} from '../../agents/conversations/speaker.ts'
import { chatLines } from '../../agents/conversations/transcript.ts'
import type { Fleet } from '../../fleet/cells/fleet.ts'
import type { Context } from '../../kernel/declaration/context.ts'
import type { Key } from '../../kernel/declaration/key.ts'
import type { AskModel } from '../http/ask-model.ts'
import { requireModel } from '../http/model-access.ts'

/**
 * Characters per token; lower than in real texts, so that a prompt mostly fits at the first
 * attempt.
 */
const CHARS_PER_TOKEN = 3
/**
 * Maximum number of attempts, each with half the text of the previous one, if a model rejects it as
 * too long.
 */
const ATTEMPTS = 4
const RETRY_AFTER_SECONDS = 15

export interface ModelSpeakerParts {
  config: { conversations: ConversationsConfig; tiers: TierSettings }
  catalogue: Catalogue
  askModel: AskModel
  fleet: Pick<Fleet, 'serves'>
  quota: Pick<Quota, 'standing'>
  /** Unix time, milliseconds. */
  now: () => number
}

/** Creates a speaker: models answer as they answer a chat completion of the same key. */
export const createModelSpeaker = ({
  config,
  catalogue,
  askModel,
  fleet,
  quota,
  now,
}: ModelSpeakerParts) => {
  const { conversations } = config

  /** Tokens that every model which may answer has room for. */
  const contextOf = (id: string, { tier }: Key): number => {
    if (id !== AUTO_MODEL) return requireModel(catalogue, id, 'chat', tier).context_length
    const chats = modelsOfTier(catalogue, tier).filter(({ kind }) => kind === 'chat')
    if (chats.length === 0) requireModel(catalogue, id, 'chat', tier)
    return Math.min(...chats.map(({ context_length }) => context_length))
  }

  const ready = async (id: string, key: Key): Promise<void> => {
    contextOf(id, key)
    const chats = modelsOfTier(catalogue, key.tier).filter(({ kind }) => kind === 'chat')
    const served = id === AUTO_MODEL ? chats.some(each => fleet.serves(each.id)) : fleet.serves(id)
    if (!served)
      throw new ShoalError(
        'cell_unavailable',
        `no cell serves ${id} now; an operator sees why with: shoal models show ${id}`,
        { reason: 'model_not_served', next: `shoal models show ${id}` },
      )
    const { burst, remaining } = await quota.standing({ id: key.id, tier: key.tier }, now())
    if (remaining === 0)
      throw new ShoalError('tier_exceeded', 'the monthly request quota is used up')
    if (burst === 0)
      throw new ShoalError('rate_limited', 'the request limit per minute is reached', {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      })
  }

  const speak = async (turn: SpeakerTurn, context: Context): Promise<SpeakerReply> => {
    const { conversation, participant, messages, signal, delta } = turn
    const key = callerKey(context)
    const length = contextOf(participant.id, key)
    const tierTokens = config.tiers[key.tier].max_tokens
    const replyTokens = Math.min(conversations.reply_tokens, tierTokens, Math.floor(length / 4))
    let chars = (length - replyTokens) * CHARS_PER_TOKEN
    for (let attempt = 1; ; attempt++) {
      const lines = chatLines(conversation, messages, participant, chars)
      try {
        const { text, usage } = await askModel({
          body: { model: participant.id, messages: lines, max_tokens: replyTokens },
          key,
          tenantId: context.tenantId ?? key.tenantId,
          signal,
          delta,
          requestId: context.requestId,
        })
        return { content: text, tokens: usage?.total_tokens ?? tokensOf(lines, text) }
      } catch (error) {
        const isTooLong = error instanceof ShoalError && error.code === 'context_length_exceeded'
        if (!isTooLong || attempt === ATTEMPTS) throw error
        chars = Math.floor(chars / 2)
      }
    }
  }

  return { admit: contextOf, ready, speak }
}

/** Estimated tokens, for a cell that did not report its usage. */
const tokensOf = (lines: readonly { content: string }[], text: string): number =>
  Math.ceil([...lines.map(({ content }) => content), text].join('').length / CHARS_PER_TOKEN)
