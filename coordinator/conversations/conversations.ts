import type { Logger } from 'pino'
import { ShoalError } from '../../shared/errors.ts'
import { appendAudit } from '../audit/audit.ts'
import type { Events } from '../events/bus.ts'
import type { Store } from '../store/store.ts'
import { type Conversation, type Message, SYSTEM } from './conversation.ts'
import {
  addConversation,
  type ListPage,
  type NewConversation,
  readConversation,
  readConversations,
  readMessages,
} from './conversation-store.ts'
import type { ConversationsConfig } from './conversations-config.ts'
import { createExchange, type Exchange, type NewContent } from './exchange.ts'
import { oneAtATime } from './one-at-a-time.ts'
import type { Caller, Speakers } from './speaker.ts'
import { startUpkeep } from './upkeep.ts'

export interface Conversations<C extends Caller = Caller> {
  /** Throws `invalid_request`, `invalid_model`, `forbidden`, `conflict`. */
  create(conversation: NewConversation, caller: C): Promise<Conversation>
  /** Throws `not_found`, `forbidden` for one with a skill that the caller may not use. */
  get(
    id: string,
    page: ListPage,
    caller: C,
  ): Promise<{ conversation: Conversation; messages: Message[] }>
  /** Newest first; those that the caller may not see are left out. */
  list(
    page: ListPage,
    caller: C,
  ): Promise<{ conversations: Conversation[]; next: string | undefined }>
  /**
   * Stores a message and lets participants answer it. Throws what keeps it from being taken; once
   * it is stored, what fails stands in the conversation.
   */
  send(id: string, content: NewContent, caller: C): Promise<Exchange>
  /** Ends what is being answered; resolves when that is on the disk. */
  close(): Promise<void>
}

export interface ConversationParts<C extends Caller> {
  config: ConversationsConfig
  store: Pick<Store, 'ledger'>
  speakers: Speakers<C>
  events: Pick<Events, 'publish'>
  running: { add(): void; remove(): void; draining(): boolean }
  logger: Pick<Logger, 'error' | 'warn' | 'info'>
  /** Unix time, milliseconds. */
  now: () => number
}

export const openConversations = async <C extends Caller>(
  parts: ConversationParts<C>,
): Promise<Conversations<C>> => {
  const { config, speakers, events, running, logger, now } = parts
  const { ledger } = parts.store
  const lines = oneAtATime(config.max_waiting)
  const closing = new AbortController()
  const upkeep = await startUpkeep({
    ...{ ledger, retentionDays: config.retention_days, logger, now },
  })
  const answer = createExchange({
    ...{ config, ledger, speakers, events, running, upkeep, logger, now },
    closing: closing.signal,
  })
  const pending = new Set<Promise<unknown>>()

  const visible = (conversation: Conversation, caller: C): boolean => {
    try {
      requireVisible(conversation, caller)
      return true
    } catch {
      return false
    }
  }
  /** What its skills have answered must not reach keys that may not ask them. */
  const requireVisible = ({ participants }: Conversation, caller: C): void => {
    for (const { id, type } of participants) if (type === 'skill') speakers.requireSkill(id, caller)
  }
  const read = async (id: string, caller: C): Promise<Conversation> => {
    const conversation = await readConversation(ledger.read, id, tenantOf(caller))
    requireVisible(conversation, caller)
    return conversation
  }

  const create: Conversations<C>['create'] = async (wanted, caller) => {
    requireDistinct(wanted, config.max_participants)
    for (const [at, participant] of wanted.participants.entries())
      pointingAt(at, () => speakers.admit(participant, caller))
    const tenantId = tenantOf(caller)
    return ledger.sealed.write(async trx => {
      const by = caller.actor.actor
      const made = await addConversation(trx, wanted, {
        ...{ tenantId, by, at: now(), most: config.max_per_tenant },
      })
      await appendAudit(trx, {
        ...caller.actor,
        ...{ tenant: tenantId, action: 'conversation.create', subject: made.id, outcome: 'done' },
        details: { participants: wanted.participants.map(({ id, type }) => `${type}:${id}`) },
      })
      return made
    })
  }

  const send: Conversations<C>['send'] = async (id, asked, caller) => {
    await read(id, caller)
    running.add()
    const work = lines.run(id, caller.signal, async () => {
      // what was said while it waited counts
      return answer(await read(id, caller), asked, caller)
    })
    const kept = work.catch(() => {}).finally(() => pending.delete(kept))
    pending.add(kept)
    try {
      return await work
    } finally {
      running.remove()
    }
  }

  const list: Conversations<C>['list'] = async (page, caller) => {
    const found = await readConversations(ledger.read, page, tenantOf(caller))
    return {
      conversations: found.filter(conversation => visible(conversation, caller)),
      next: found.length === page.limit ? found.at(-1)?.id : undefined,
    }
  }

  return {
    create,
    list,
    send,
    get: async (id, page, caller) => {
      const conversation = await read(id, caller)
      return { conversation, messages: await readMessages(ledger.read, id, page) }
    },
    close: async () => {
      closing.abort()
      await Promise.all(pending)
      await upkeep.close()
    },
  }
}

const tenantOf = ({ tenantId }: Caller): string => {
  if (tenantId === undefined) throw new ShoalError('auth_required', 'this needs a key')
  return tenantId
}

/** What is wrong with one participant names it. */
const pointingAt = (at: number, admit: () => void): void => {
  try {
    admit()
  } catch (error) {
    if (!(error instanceof ShoalError) || error.param === undefined) throw error
    const field = error.param === 'model' ? 'id' : error.param
    const hint = error.code === 'invalid_model' ? MODEL_HINT : ''
    const options = { param: `participants.${at}.${field}`, cause: error }
    throw new ShoalError(error.code, `${error.message}${hint}`, options)
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
