import { ShoalError } from '../../../shared/errors.ts'
import { type Addressee, chooseSpeakers } from './choose.ts'
import { type Conversation, type Message, SYSTEM } from './conversation.ts'
import type { NewMessage } from './conversation-store.ts'
import type { ConversationCaller, Speakers } from './speaker.ts'

interface AnswerContext<C extends ConversationCaller> {
  conversation: Conversation
  message: Message
  first: readonly Addressee[]
  autoRoute: boolean
  caller: C
  /** Aborts when the caller disconnects, the time is up, or the coordinator stops. */
  signal: AbortSignal
  speakers: Pick<Speakers<C>, 'speak' | 'skill'>
  limits: { turns: number; tokens: number; messages: number; contentChars: number }
  /** The newest messages, oldest first. */
  readRecent: () => Promise<Message[]>
  /** Stores a message and reports it. */
  add: (message: NewMessage) => Promise<Message>
  /** Receives each piece of an answer. */
  delta: (from: string, text: string) => Promise<void> | void
  /** Receives failures that the participants did not cause. */
  onError: (error: unknown) => void
}

interface AnswerOutcome {
  replies: Message[]
  /** Reason for the failure of the last turn; undefined when a participant has answered. */
  reason: string | undefined
}

/**
 * Runs the turns of the addressed participants one after another, and of those they hand on to,
 * until none is left or a limit is reached, which is noted in the conversation. Rejects when
 * aborted or when a reply cannot be stored.
 */
export const answerMessage = async <C extends ConversationCaller>(
  asked: AnswerContext<C>,
): Promise<AnswerOutcome> => {
  const { conversation, message, signal, limits, speakers, caller } = asked
  const waiting = asked.first.map(addressed => ({ ...addressed, because: message }))
  const replies: Message[] = []
  let { tokens } = conversation
  let turns = 0
  let reason: string | undefined
  let answers = 0

  const add = async (said: Omit<NewMessage, 'state'> & { state?: NewMessage['state'] }) => {
    const stored = await asked.add({ state: 'done', ...said })
    replies.push(stored)
    return stored
  }
  const note = (content: string, inReplyTo: string): Promise<Message> =>
    add({ sender: SYSTEM, content, inReplyTo, state: 'failed', reason: content })
  /**
   * Returns the limit that ends the turns, if one is reached; leaves room for the note about it.
   */
  const limit = (): string | undefined => {
    if (turns >= limits.turns) return `it ended after ${turns} turns; send a message to continue`
    if (tokens >= limits.tokens) return `this conversation has used its ${limits.tokens} tokens`
    if (conversation.messages + 1 + replies.length + 1 >= limits.messages)
      return `this conversation has its ${limits.messages} messages`
    return undefined
  }

  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { participant, argument, because } = next
    const over = limit()
    if (over !== undefined) {
      await note(over, because.id)
      if (answers === 0) reason = over
      break
    }
    turns++
    signal.throwIfAborted()
    try {
      const speaking = speakers.speak(
        {
          conversation,
          participant,
          messages: await asked.readRecent(),
          argument,
          signal,
          delta: text => asked.delta(participant.id, text),
        },
        caller,
      )
      const said = await rejectOnAbort(speaking, signal)
      tokens += said.tokens
      const content = said.content.slice(0, limits.contentChars)
      const { failure } = said
      const reply = await add({
        sender: participant.id,
        content,
        inReplyTo: because.id,
        tokens: said.tokens,
        ...(failure !== undefined && { state: 'failed', reason: failure }),
      })
      if (failure !== undefined) {
        if (answers === 0) reason = failure
        continue
      }
      answers++
      reason = undefined
      if (!asked.autoRoute || participant.type === 'skill') continue
      for (const handed of findHandOns(asked, reply)) {
        const refused = explainRefusedHandOn(asked, handed)
        if (refused === undefined) waiting.push({ ...handed, because: reply })
        else await note(refused, reply.id)
      }
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof ShoalError)) asked.onError(error)
      else if (error.code === 'store_unavailable') throw error
      const why = error instanceof ShoalError ? `${error.code}: ${error.message}` : 'internal'
      if (answers === 0) reason = why
      await note(`@${participant.id} did not answer: ${why}`, because.id)
    }
  }
  return { replies, reason: answers === 0 ? reason : undefined }
}

/** Rejects on abort even if the participant ignores the signal. */
const rejectOnAbort = <T>(work: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })

/** Returns the participants that a reply names, except its author. */
const findHandOns = <C extends ConversationCaller>(
  { conversation, speakers }: AnswerContext<C>,
  reply: Message,
): Addressee[] =>
  chooseSpeakers(reply.content, conversation.participants, {
    autoRoute: false,
    skills: speakers.skill,
  }).filter(({ participant }) => participant.id !== reply.sender)

/**
 * Returns why a hand-on is refused. Text of a model is not an instruction: it may run a skill that
 * only reads, and any change remains a proposal until a person sends it.
 */
const explainRefusedHandOn = <C extends ConversationCaller>(
  { speakers }: AnswerContext<C>,
  { participant: { id, type } }: Addressee,
): string | undefined =>
  type === 'skill' && speakers.skill(id)?.reads !== true
    ? `@${id} was not run: what changes something is run only for a message of a person`
    : undefined
