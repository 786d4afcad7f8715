import type { Logger } from 'pino'
import { ShoalError } from '../../shared/errors.ts'
import type { Events } from '../events/bus.ts'
import type { Ledger } from '../store/store.ts'
import { answerMessage } from './answer-message.ts'
import { type Addressed, chooseSpeakers } from './choose.ts'
import { type Conversation, type Message, type MessageState, SYSTEM } from './conversation.ts'
import {
  addMessage,
  type NewMessage,
  readMessages,
  settleMessage,
  type TakenMessage,
} from './conversation-store.ts'
import { type ConversationsConfig, tokenLimit } from './conversations-config.ts'
import { type Caller, callerKey, type Speakers } from './speaker.ts'
import { LEFT_OVER, type Upkeep } from './upkeep.ts'

/** What is told while a message is answered. */
export type Told =
  | { event: 'message'; message: Message }
  | { event: 'delta'; from: string; text: string }

export interface NewContent {
  content: string
  /** As if the conversation had it, for this message. */
  autoRoute: boolean
  tell: (told: Told) => void
}

export interface Exchange {
  message: Message
  replies: Message[]
}

export interface ExchangeParts<C extends Caller> {
  config: ConversationsConfig
  ledger: Ledger
  speakers: Speakers<C>
  events: Pick<Events, 'publish'>
  running: { draining(): boolean }
  upkeep: Pick<Upkeep, 'take' | 'over'>
  /** Aborts when the coordinator stops. */
  closing: AbortSignal
  logger: Pick<Logger, 'error'>
  /** Unix time, milliseconds. */
  now: () => number
}

/** Of one conversation that are read for one turn; what fits is chosen from them. */
const RECENT = 100

/** Stores one message and lets participants answer it; as `Conversations.send`. */
export const createExchange = <C extends Caller>(parts: ExchangeParts<C>) => {
  const { config, ledger, speakers, events, running, upkeep, closing, logger, now } = parts

  const store = async (
    conversation: Conversation,
    said: NewMessage,
    tell: (told: Told) => void,
  ): Promise<Message> => {
    const add = (trx: Parameters<typeof addMessage>[0], taken: TakenMessage) =>
      addMessage(trx, conversation.id, { ...said, ...taken }, now())
    const message = await (said.state === 'answering'
      ? upkeep.take(add)
      : ledger.free.write(trx => add(trx, {})))
    tell({ event: 'message', message })
    publish(conversation, message)
    return message
  }
  /** Without the text: who hears of it reads it, if it may. */
  const publish = ({ id, tenantId }: Conversation, message: Message): void => {
    events.publish(
      'shoal.conversation.message',
      {
        tenant_id: tenantId,
        conversation_id: id,
        message_id: message.id,
        from: message.from,
        in_reply_to: message.inReplyTo ?? null,
        state: message.state,
      },
      id,
    )
  }

  /** Who is to answer, or why nothing can be said. */
  const admitMessage = async (
    conversation: Conversation,
    { content, autoRoute }: NewContent,
    caller: C,
  ): Promise<Addressed[]> => {
    if (running.draining())
      throw new ShoalError('draining', 'the coordinator is stopping', { retryAfterSeconds: 5 })
    if (content.length > config.max_content_chars)
      throw new ShoalError(
        'invalid_request',
        `content has more than ${config.max_content_chars} characters`,
        { param: 'content' },
      )
    if (conversation.messages >= config.max_messages)
      throw new ShoalError('conflict', `it has its ${config.max_messages} messages; begin another`)
    const first = chooseSpeakers(content, conversation.participants, {
      autoRoute,
      skills: speakers.skill,
    })
    const models = first.some(({ participant }) => participant.type === 'model')
    if (models && conversation.tokens >= tokenLimit(config))
      throw new ShoalError(
        'conflict',
        `it has used its ${tokenLimit(config)} tokens; begin another`,
      )
    for (const { participant } of first) await speakers.ready(participant, caller)
    return first
  }

  const answer = async (
    conversation: Conversation,
    asked: NewContent,
    caller: C,
  ): Promise<Exchange> => {
    const autoRoute = conversation.autoRoute || asked.autoRoute
    const first = await admitMessage(conversation, { ...asked, autoRoute }, caller)
    const sender = callerKey(caller).personId
    const state: MessageState = first.length === 0 ? 'done' : 'answering'
    const message = await store(
      conversation,
      { from: sender, content: asked.content, state },
      asked.tell,
    )
    if (first.length === 0) return { message, replies: [] }
    const replies: Message[] = []
    const timeout = AbortSignal.timeout(config.message_seconds * 1000)
    const signal = AbortSignal.any([caller.signal, timeout, closing])
    const settle = async (end: MessageState, reason?: string): Promise<Exchange> => {
      await ledger.free.write(trx => settleMessage(trx, message.id, end, reason))
      return { message: { ...message, state: end, reason }, replies }
    }
    try {
      const { reason } = await answerMessage({
        ...{ conversation, message, first, autoRoute, caller, signal, speakers },
        limits: {
          turns: config.max_turns,
          tokens: tokenLimit(config),
          messages: config.max_messages,
          contentChars: config.max_content_chars,
        },
        recent: () => readMessages(ledger.read, conversation.id, { limit: RECENT }),
        add: async said => {
          const stored = await store(conversation, said, asked.tell)
          replies.push(stored)
          return stored
        },
        delta: (from, text) => asked.tell({ event: 'delta', from, text }),
        failed: error => logger.error({ err: error, request: caller.requestId }, 'a turn failed'),
      })
      return await settle(reason === undefined ? 'done' : 'failed', reason)
    } catch (error) {
      if (!signal.aborted) {
        await settle('failed', 'the replies could not be stored').catch(() => {})
        throw error
      }
      if (closing.aborted) return await settle('failed', LEFT_OVER)
      if (!timeout.aborted) return await settle('cancelled', leftBecause(caller))
      const late = `it took longer than ${config.message_seconds} s`
      const note = { from: SYSTEM, content: late, reason: late, inReplyTo: message.id }
      replies.push(await store(conversation, { ...note, state: 'failed' }, asked.tell))
      return await settle(replies.length > 1 ? 'done' : 'failed', late)
    } finally {
      upkeep.over(message.id)
    }
  }

  return answer
}

/** Reason why a call ended: its time runs while it waits for other messages, too. */
const leftBecause = ({ signal: { reason } }: Caller): string =>
  reason instanceof ShoalError && reason.code === 'request_timeout'
    ? 'the time of the call was up'
    : 'the caller left'
