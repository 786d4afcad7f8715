import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'
import { type Runtime, timeoutSignal } from '../../../shared/runtime.ts'
import type { Events } from '../../kernel/events/bus.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import { answerMessage } from './answer-message.ts'
import { type Addressee, chooseSpeakers } from './choose.ts'
import { type Conversation, type Message, type MessageState, SYSTEM } from './conversation.ts'
import {
  addMessage,
  ConversationBusyError,
  type NewMessage,
  readMessages,
  requireAnswering,
  settleMessage,
  type TakenMessage,
} from './conversation-store.ts'
import { type ConversationsConfig, tokenLimit } from './conversations-config.ts'
import { limitWait } from './limit-wait.ts'
import { type ConversationCaller, callerKey, type Speakers } from './speaker.ts'
import { LEFT_OVER, type Upkeep } from './upkeep.ts'

/** Progress that is reported while a message is answered. */
export type ExchangeEvent =
  | { event: 'message'; message: Message }
  | { event: 'delta'; from: string; text: string }

export interface NewContent {
  content: string
  /** Overrides `autoRoute` of the conversation for this message. */
  autoRoute: boolean
  /** A promise resolves when the reader can take more; see `limitWait`. */
  tell: (told: ExchangeEvent) => Promise<void> | void
}

export interface Exchange {
  message: Message
  replies: Message[]
}

interface ExchangeParts<C extends ConversationCaller> {
  config: ConversationsConfig
  ledger: Ledger
  speakers: Speakers<C>
  events: Pick<Events, 'publish'>
  running: { isDraining(): boolean }
  upkeep: Pick<Upkeep, 'take' | 'release' | 'isBusy'>
  /** Aborts when the coordinator stops. */
  closing: AbortSignal
  logger: Pick<Logger, 'error'>
  /** Unix time, milliseconds. */
  now: () => number
  runtime: Pick<Runtime, 'setTimeout' | 'ids'>
}

type Trx = Parameters<typeof addMessage>[0]

/** Number of newest messages read for one turn; those that fit are chosen from them. */
const RECENT = 100

/** Stores messages and has participants answer them; the contract is that of `Conversations.send`. */
export class Exchanges<C extends ConversationCaller> {
  readonly #parts: ExchangeParts<C>

  constructor(parts: ExchangeParts<C>) {
    this.#parts = parts
  }

  /**
   * Throws `ConversationBusyError`, without an effect, when the conversation has changed since it
   * was read or another process answers in it.
   */
  async answer(conversation: Conversation, request: NewContent, caller: C): Promise<Exchange> {
    const autoRoute = conversation.autoRoute || request.autoRoute
    const first = await this.#admit(conversation, { ...request, autoRoute }, caller)
    const sender = callerKey(caller).personId
    const state: MessageState = first.length === 0 ? 'done' : 'answering'
    const sent = { sender, content: request.content, state, seen: conversation.messages }
    const { upkeep, runtime } = this.#parts
    const tell = limitWait(request.tell, runtime)
    const message = await this.#store(conversation, sent, tell, async trx => {
      if (await upkeep.isBusy(trx, conversation.id)) throw new ConversationBusyError()
    })
    if (first.length === 0) return { message, replies: [] }
    return this.#collectReplies({ conversation, message, first, autoRoute, caller }, tell)
  }

  /** Runs the turns that answer one message, and settles the message however they end. */
  async #collectReplies(turns: Turns<C>, tell: NewContent['tell']): Promise<Exchange> {
    const { config, closing, upkeep, runtime } = this.#parts
    const { conversation, message, caller } = turns
    const replies: Message[] = []
    const timeout = timeoutSignal(runtime, config.message_seconds * 1000)
    const signal = AbortSignal.any([caller.signal, timeout, closing])
    const add = async (reply: NewMessage): Promise<Message> => {
      const stored = await this.#store(conversation, reply, tell, trx =>
        requireAnswering(trx, message.id),
      )
      replies.push(stored)
      return stored
    }
    const settle = (end: MessageState, reason?: string) =>
      this.#settle(message, replies, end, reason)
    try {
      const { reason } = await this.#runTurns(turns, { signal, add, tell })
      return await settle(reason === undefined ? 'done' : 'failed', reason)
    } catch (error) {
      if (!signal.aborted) {
        await settle('failed', 'the replies could not be stored').catch(() => {})
        throw error
      }
      if (closing.aborted) return await settle('failed', LEFT_OVER)
      if (!timeout.aborted) return await settle('cancelled', reasonOfLeaving(caller))
      const late = `it took longer than ${config.message_seconds} s`
      const note = { sender: SYSTEM, content: late, reason: late, inReplyTo: message.id }
      await add({ ...note, state: 'failed' })
      return await settle(replies.length > 1 ? 'done' : 'failed', late)
    } finally {
      upkeep.release(message.id)
    }
  }

  #runTurns(turns: Turns<C>, { signal, add, tell }: TurnEffects): ReturnType<typeof answerMessage> {
    const { config, ledger, speakers, logger } = this.#parts
    const { conversation, caller } = turns
    return answerMessage({
      ...turns,
      signal,
      speakers,
      add,
      limits: {
        turns: config.max_turns,
        tokens: tokenLimit(config),
        messages: config.max_messages,
        contentChars: config.max_content_chars,
      },
      readRecent: () => readMessages(ledger.read, conversation.id, { limit: RECENT }),
      delta: (from, text) => tell({ event: 'delta', from, text }),
      onError: error => logger.error({ err: error, request: caller.requestId }, 'a turn failed'),
    })
  }

  /** Participants that have to answer. Throws when the message cannot be accepted. */
  async #admit(
    conversation: Conversation,
    { content, autoRoute }: NewContent,
    caller: C,
  ): Promise<Addressee[]> {
    const { config, speakers } = this.#parts
    this.#requireRoom(conversation, content)
    const first = chooseSpeakers(content, conversation.participants, {
      autoRoute,
      skills: speakers.skill,
    })
    const asksModel = first.some(({ participant }) => participant.type === 'model')
    if (asksModel && conversation.tokens >= tokenLimit(config))
      throw new ShoalError(
        'conflict',
        `the conversation has used its ${tokenLimit(config)} tokens; start another`,
      )
    for (const { participant } of first) await speakers.ready(participant, caller)
    return first
  }

  #requireRoom({ messages }: Conversation, content: string): void {
    const { config, running } = this.#parts
    if (running.isDraining())
      throw new ShoalError('draining', 'the coordinator is stopping', { retryAfterSeconds: 5 })
    if (content.length > config.max_content_chars)
      throw new ShoalError(
        'invalid_request',
        `content has more than ${config.max_content_chars} characters`,
        { param: 'content' },
      )
    if (messages >= config.max_messages)
      throw new ShoalError(
        'conflict',
        `the conversation has its ${config.max_messages} messages; start another`,
      )
  }

  async #store(
    conversation: Conversation,
    message: NewMessage,
    tell: NewContent['tell'],
    requireAllowed: (trx: Trx) => Promise<void>,
  ): Promise<Message> {
    const { ledger, upkeep, now, runtime } = this.#parts
    const add = async (trx: Trx, taken: TakenMessage) => {
      const added = await addMessage(trx, conversation.id, { ...message, ...taken }, now())
      // after the row of the conversation was locked: what is read now stays true
      await requireAllowed(trx)
      return added
    }
    const stored = await (message.state === 'answering'
      ? upkeep.take(add)
      : ledger.free.write(trx => add(trx, { id: runtime.ids.create('msg', now()) })))
    tell({ event: 'message', message: stored })
    this.#publish(conversation, stored)
    return stored
  }

  async #settle(
    message: Message,
    replies: Message[],
    state: MessageState,
    reason?: string,
  ): Promise<Exchange> {
    await this.#parts.ledger.free.write(trx => settleMessage(trx, message.id, state, reason))
    return { message: { ...message, state, reason }, replies }
  }

  /** The event carries no text: a listener that may see it reads the message. */
  #publish({ id, tenantId }: Conversation, message: Message): void {
    this.#parts.events.publish(
      'shoal.conversation.message',
      {
        tenant_id: tenantId,
        conversation_id: id,
        message_id: message.id,
        from: message.sender,
        in_reply_to: message.inReplyTo ?? null,
        state: message.state,
      },
      id,
    )
  }
}

/** Turns that answer one message. */
interface Turns<C extends ConversationCaller> {
  conversation: Conversation
  message: Message
  first: Addressee[]
  autoRoute: boolean
  caller: C
}

interface TurnEffects {
  signal: AbortSignal
  add: (reply: NewMessage) => Promise<Message>
  tell: NewContent['tell']
}

/** The time limit of a call also runs while it waits for other participants. */
const reasonOfLeaving = ({ signal }: ConversationCaller): string =>
  signal.reason instanceof ShoalError && signal.reason.code === 'request_timeout'
    ? 'the time limit of the call was reached'
    : 'the caller disconnected'
