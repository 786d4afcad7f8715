import type { Transaction } from 'kysely'
import type { Logger } from 'pino'
import { newId } from '../../../shared/ids.ts'
import { stopTimer, systemRuntime } from '../../../shared/runtime.ts'
import { DAY_MS } from '../../../shared/time.ts'
import { createLease, LEASE_MS } from '../../calls/tasks/lease.ts'
import type { OpenLeader } from '../../kernel/leader/open.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import type { Message } from './conversation.ts'
import {
  deleteQuiet,
  failLeftOver,
  isAnsweredElsewhere,
  type TakenMessage,
} from './conversation-store.ts'

type Trx = Transaction<LedgerTables>

interface UpkeepParts extends Pick<OpenLeader, 'leaderWork'> {
  ledger: Ledger
  /** Days to keep a conversation after its last message; 0 keeps it forever. */
  retentionDays: number
  logger: Pick<Logger, 'warn'>
  /** Unix time, milliseconds. */
  now: () => number
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
  close(): Promise<void>
}

export const LEFT_OVER = 'the coordinator stopped before it was answered'

const TIDY_EVERY_MS = 60_000
const DELETED_AT_ONCE = 200

export const startUpkeep = async (parts: UpkeepParts): Promise<Upkeep> => {
  const { ledger, retentionDays, leaderWork, logger, now } = parts
  const worker = newId('worker')
  const lease = createLease({ worker, nowMs: ledger.nowMs })
  const underWay = new Set<string>()
  let tidiedAt = Number.NEGATIVE_INFINITY

  const tidy = async (ledger: Ledger): Promise<void> => {
    await ledger.free.write(async trx =>
      failLeftOver(trx, { worker, underWay, now: await ledger.nowMs(trx), reason: LEFT_OVER }),
    )
    if (retentionDays === 0 || now() - tidiedAt < TIDY_EVERY_MS) return
    tidiedAt = now()
    await ledger.free.write(trx =>
      deleteQuiet(trx, now() - retentionDays * DAY_MS, DELETED_AT_ONCE),
    )
  }
  const warn = (error: unknown): void =>
    logger.warn({ err: error }, 'the upkeep of conversations failed; it is tried again')

  const beat = (): void => {
    if (underWay.size > 0) ledger.free.write(lease.keep, { isUrgent: true }).catch(warn)
  }
  await leaderWork.runOnce(tidy).catch(warn)
  leaderWork.every('conversations.tidy', LEASE_MS / 1000, tidy)
  const beating = systemRuntime.setInterval(beat, LEASE_MS / 3).unref()

  const take: Upkeep['take'] = async add => {
    const id = newId('msg', now())
    // precedes the store, so that `tidy` never finds the message without its worker
    underWay.add(id)
    const stored = ledger.free.write(async trx => {
      await lease.keep(trx)
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
      isAnsweredElsewhere(trx, conversationId, { worker, now: await ledger.nowMs(trx) }),
    close: async () => {
      stopTimer(beating)
      await ledger.free.write(lease.end).catch(warn)
    },
  }
}
