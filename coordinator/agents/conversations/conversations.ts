import type { Logger } from 'pino'
import { detailsOf, ShoalError } from '../../../shared/errors.ts'
import { type Runtime, waitBy } from '../../../shared/runtime.ts'
import { appendAudit } from '../../kernel/audit/audit.ts'
import type { Base } from '../../kernel/base/base.ts'
import type { Events } from '../../kernel/events/bus.ts'
import type { OpenLeader } from '../../kernel/leader/open.ts'
import type { Ownership } from '../../kernel/leases/ownership.ts'
import type { Store } from '../../kernel/store/store.ts'
import { type Conversation, type Message, SYSTEM } from './conversation.ts'
import {
  addConversation,
  ConversationBusyError,
  type ListPage,
  type NewConversation,
  readConversation,
  readConversations,
  readMessages,
} from './conversation-store.ts'
import type { ConversationsConfig } from './conversations-config.ts'
import { type Exchange, Exchanges, type NewContent } from './exchange.ts'
import { oneAtATime } from './one-at-a-time.ts'
import type { ConversationCaller, Speakers } from './speaker.ts'
import { startUpkeep, type Upkeep } from './upkeep.ts'

interface ConversationParts<C extends ConversationCaller>
  extends Pick<OpenLeader, 'leaderWork'>,
    Pick<Base, 'schedules'> {
  config: ConversationsConfig
  store: Pick<Store, 'ledger'>
  ownership: Ownership
  speakers: Speakers<C>
  events: Pick<Events, 'publish'>
  running: { add(): void; remove(): void; isDraining(): boolean }
  logger: Pick<Logger, 'error' | 'warn' | 'info'>
  /** Unix time, milliseconds. */
  now: () => number
  runtime: Pick<Runtime, 'setTimeout' | 'ids'>
}

/** Interval at which a message looks whether another process has answered the one before. */
const LOOK_MS = 250

/** Conversations of a tenant, answered one message at a time each. */
export class Conversations<C extends ConversationCaller = ConversationCaller> {
  readonly #parts: ConversationParts<C>
  readonly #exchanges: Exchanges<C>
  readonly #lines: ReturnType<typeof oneAtATime>
  readonly #closing: AbortController
  readonly #pending = new Set<Promise<unknown>>()

  private constructor(parts: ConversationParts<C>, upkeep: Upkeep) {
    this.#parts = parts
    this.#closing = new AbortController()
    this.#lines = oneAtATime(parts.config.max_waiting)
    const { ledger } = parts.store
    this.#exchanges = new Exchanges({ ...parts, ledger, upkeep, closing: this.#closing.signal })
  }

  static async open<C extends ConversationCaller>(
    parts: ConversationParts<C>,
  ): Promise<Conversations<C>> {
    const { config, store } = parts
    const retentionDays = config.retention_days
    const upkeep = await startUpkeep({ ...parts, ledger: store.ledger, retentionDays })
    return new Conversations(parts, upkeep)
  }

  /** Throws `invalid_request`, `invalid_model`, `forbidden`, `conflict`. */
  async create(conversation: NewConversation, caller: C): Promise<Conversation> {
    const { config, store, speakers, now, runtime } = this.#parts
    requireDistinct(conversation, config.max_participants)
    for (const [at, participant] of conversation.participants.entries())
      rethrowWithIndex(at, () => speakers.admit(participant, caller))
    const tenantId = tenantOf(caller)
    const by = caller.actor.actor
    return store.ledger.sealed.write(async trx => {
      const at = now()
      const id = runtime.ids.create('conv', at)
      const most = config.max_per_tenant
      const added = await addConversation(trx, conversation, { id, tenantId, by, at, most })
      await appendAudit(trx, {
        ...caller.actor,
        at,
        tenant: tenantId,
        action: 'conversation.create',
        subject: added.id,
        outcome: 'done',
        details: { participants: conversation.participants.map(({ id, type }) => `${type}:${id}`) },
      })
      return added
    })
  }

  /**
   * Throws `not_found`, and `forbidden` for a conversation with a skill that the caller may not
   * use.
   */
  async get(
    id: string,
    page: ListPage,
    caller: C,
  ): Promise<{ conversation: Conversation; messages: Message[] }> {
    const conversation = await this.#read(id, caller)
    const messages = await readMessages(this.#parts.store.ledger.read, id, page)
    return { conversation, messages }
  }

  /** Lists conversations, newest first, without those that the caller may not see. */
  async list(
    page: ListPage,
    caller: C,
  ): Promise<{ conversations: Conversation[]; next: string | undefined }> {
    const found = await readConversations(this.#parts.store.ledger.read, page, tenantOf(caller))
    return {
      conversations: found.filter(conversation => this.#isVisible(conversation, caller)),
      next: found.length === page.limit ? found.at(-1)?.id : undefined,
    }
  }

  /**
   * Stores a message and has participants answer it. Throws when the message cannot be accepted;
   * a later failure is recorded in the conversation.
   */
  async send(id: string, content: NewContent, caller: C): Promise<Exchange> {
    const { running } = this.#parts
    await this.#read(id, caller)
    running.add()
    const exchange = this.#lines.run(id, caller.signal, () => this.#answer(id, content, caller))
    const pending = exchange.catch(() => {}).finally(() => this.#pending.delete(pending))
    this.#pending.add(pending)
    try {
      return await exchange
    } finally {
      running.remove()
    }
  }

  /** Ends the answers in progress; resolves when their final states are stored. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all(this.#pending)
  }

  /** Answers a message as soon as no other process answers one of the same conversation. */
  async #answer(id: string, content: NewContent, caller: C): Promise<Exchange> {
    const signal = AbortSignal.any([caller.signal, this.#closing.signal])
    for (;;)
      try {
        // read again: the conversation may have grown while this message waited
        return await this.#exchanges.answer(await this.#read(id, caller), content, caller)
      } catch (error) {
        if (!(error instanceof ConversationBusyError)) throw error
        await waitBy(this.#parts.runtime)(LOOK_MS, signal)
        if (signal.aborted)
          throw new ShoalError('client_closed', 'the message was not answered in time', {
            cause: signal.reason,
          })
      }
  }

  async #read(id: string, caller: C): Promise<Conversation> {
    const conversation = await readConversation(this.#parts.store.ledger.read, id, tenantOf(caller))
    this.#requireVisible(conversation, caller)
    return conversation
  }

  /**
   * Throws `forbidden` for a skill that the caller may not call: its answers must not reach the
   * caller's key.
   */
  #requireVisible({ participants }: Conversation, caller: C): void {
    for (const { id, type } of participants)
      if (type === 'skill') this.#parts.speakers.requireSkill(id, caller)
  }

  #isVisible(conversation: Conversation, caller: C): boolean {
    try {
      this.#requireVisible(conversation, caller)
      return true
    } catch {
      return false
    }
  }
}

const tenantOf = ({ tenantId }: ConversationCaller): string => {
  if (tenantId === undefined) throw new ShoalError('auth_required', 'this needs a key')
  return tenantId
}

/** Adds the index of the participant to the `param` of an error. */
const rethrowWithIndex = (at: number, admit: () => void): void => {
  try {
    admit()
  } catch (error) {
    if (!(error instanceof ShoalError)) throw error
    const isModel = error.code === 'invalid_model' || error.code === 'model_not_found'
    const field = isModel ? 'id' : error.param
    if (field === undefined) throw error
    const options = { ...detailsOf(error), param: `participants.${at}.${field}`, cause: error }
    throw new ShoalError(error.code, `${error.message}${isModel ? MODEL_HINT : ''}`, options)
  }
}

const MODEL_HINT = ' (the id of a participant of type model is the id of that model)'

const requireDistinct = ({ participants }: NewConversation, most: number): void => {
  const refuse = (message: string) => {
    throw new ShoalError('invalid_request', message, { param: 'participants' })
  }
  if (participants.length > most) refuse(`at most ${most} participants may take part`)
  const ids = participants.map(({ id }) => id.toLowerCase())
  const twice = ids.find((id, at) => ids.indexOf(id) !== at)
  if (twice !== undefined) refuse(`${twice} takes part twice`)
  if (ids.includes(SYSTEM)) refuse(`${SYSTEM} is the name of the coordinator itself`)
}
