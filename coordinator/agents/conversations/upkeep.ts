import type { Transaction } from 'kysely'
import type { Logger } from 'pino'
import type { Runtime } from '../../../shared/runtime.ts'
import { DAY_MS } from '../../../shared/time.ts'
import type { Base } from '../../kernel/base/base.ts'
import type { OpenLeader } from '../../kernel/leader/open.ts'
import { LEASE_MS, type Ownership } from '../../kernel/leases/ownership.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import type { Message } from './conversation.ts'
import {
  deleteQuiet,
  failLeftOver,
  failMessages,
  isAnsweredElsewhere,
  listAnsweredBy,
  type TakenMessage,
} from './conversation-store.ts'

type Trx = Transaction<LedgerTables>

interface UpkeepParts extends Pick<OpenLeader, 'leaderWork'>, Pick<Base, 'schedules'> {
  ledger: Ledger
  /** Owner of the messages that are answered here. */
  ownership: Ownership
  /** Days to keep a conversation after its last message; 0 keeps it forever. */
  retentionDays: number
  logger: Pick<Logger, 'warn'>
  /** Unix time, milliseconds. */
  now: () => number
  runtime: Pick<Runtime, 'ids'>
}

/**
 * Tracks the messages that this process answers, and fails those that no process answers any more.
 */
export interface Upkeep {
  /** Stores a message that this process answers; other processes leave it alone until `release`. */
  take(add: (trx: Trx, taken: TakenMessage) => Promise<Message>): Promise<Message>
  release(messageId: string): void
  /** True while another process answers a message of the conversation. */
  isBusy(trx: Trx, conversationId: string): Promise<boolean>
}

export const LEFT_OVER = 'the coordinator stopped before it was answered'
const NOT_STORED = 'the end of its answer could not be stored'

const TIDY_EVERY_MS = 60_000
const DELETED_AT_ONCE = 200

export const startUpkeep = async (parts: UpkeepParts): Promise<Upkeep> => {
  const { ledger, ownership, retentionDays, leaderWork, schedules, logger, now, runtime } = parts
  const worker = ownership.id
  const underWay = new Set<string>()
  let tidiedAt = Number.NEGATIVE_INFINITY

  const tidy = async (ledger: Ledger): Promise<void> => {
    await ledger.free.write(async trx =>
      failLeftOver(trx, { worker, now: await ledger.nowMs(trx), reason: LEFT_OVER }),
    )
    if (retentionDays === 0 || now() - tidiedAt < TIDY_EVERY_MS) return
    tidiedAt = now()
    await ledger.free.write(trx =>
      deleteQuiet(trx, now() - retentionDays * DAY_MS, DELETED_AT_ONCE),
    )
  }
  /** Fails own messages whose end was not stored; other processes leave them to a live owner. */
  const failOwn = async (): Promise<void> => {
    const stored = await listAnsweredBy(ledger.read, worker)
    // a message is under way before it is stored, so that one which was read and is not has ended
    const left = stored.filter(id => !underWay.has(id))
    if (left.length > 0) await ledger.free.write(trx => failMessages(trx, left, NOT_STORED))
  }
  const warn = (error: unknown): void =>
    logger.warn({ err: error }, 'the upkeep of conversations failed; it is tried again')

  await leaderWork.runOnce(tidy).catch(warn)
  leaderWork.every('conversations.tidy', LEASE_MS / 1000, tidy)
  schedules.every('conversations.own', LEASE_MS / 1000, failOwn)

  const take: Upkeep['take'] = async add => {
    const id = runtime.ids.create('msg', now())
    // precedes the store, so that `failOwn` never takes the message for one that has ended
    underWay.add(id)
    const stored = ledger.free.write(async trx => {
      await ownership.keep(trx)
      return add(trx, { id, worker })
    })
    return stored.catch(error => {
      underWay.delete(id)
      throw error
    })
  }

  return {
    take,
    release: messageId => void underWay.delete(messageId),
    isBusy: async (trx, conversationId) =>
      isAnsweredElsewhere(trx, conversationId, { id: worker, now: await ledger.nowMs(trx) }),
  }
}
