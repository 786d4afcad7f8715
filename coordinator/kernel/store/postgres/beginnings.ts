import type { DatabaseDefinition } from '../engine.ts'

/** Keys of the advisory locks of the sealed lanes. */
const LOCKS = { ledger: 0x73686f62, records: 0x73686f63 } as const

/** Key of the advisory lock under which one process at a time changes the tables. */
const MIGRATION_LOCK = 0x73686f61

/** Longest wait for the answer to one statement. */
export const ANSWER_MS = {
  sealed: 10_000,
  free: 30_000,
  read: 30_000,
  migrations: 86_400_000,
} as const

/**
 * The server ends a transaction whose process is silent for so long. Without this it would keep the
 * locks of one that was cut off, and every other process would wait for it.
 */
const SILENCE_MS = 3000

/** Longest wait of a change of the tables for those who use them. */
const MIGRATION_LOCK_MS = 15_000

/** First statements of the transactions of each lane. */
export const beginningsOf = (
  name: DatabaseDefinition<unknown>['name'],
  survives: DatabaseDefinition<unknown>['survives'],
  deadlockMs: number,
) => {
  const begin = (limits: { statement: number; lock: number; silence?: number }, then = '') =>
    [
      // the lock of the sealed lane must come before the snapshot of each statement
      'begin isolation level read committed',
      DURABILITY[survives],
      `set local statement_timeout = ${limits.statement}`,
      `set local lock_timeout = ${limits.lock}`,
      `set local idle_in_transaction_session_timeout = ${limits.silence ?? SILENCE_MS}`,
      then,
    ].join('; ')
  const lock = (key: number) => `select pg_advisory_xact_lock(${key})`
  const limitAnswer = (lane: 'sealed' | 'free') => ANSWER_MS[lane] - 1000
  return {
    sealed: begin({ statement: limitAnswer('sealed'), lock: 0 }, lock(LOCKS[name])),
    // a free work gives way before the deadlock detector ends one of the sealed lane
    free: begin({ statement: limitAnswer('free'), lock: Math.min(500, Math.ceil(deadlockMs / 2)) }),
    migrations: [
      begin({ statement: 0, lock: 0, silence: 60_000 }, lock(MIGRATION_LOCK)),
      `set local lock_timeout = ${MIGRATION_LOCK_MS}`,
      lock(LOCKS[name]),
    ].join('; '),
  }
}

/** A server that waits for its standbys goes on doing so. */
const DURABILITY = {
  power_loss: `select set_config('synchronous_commit', 'on', true)
    where current_setting('synchronous_commit') in ('off', 'local')`,
  process_end: 'set local synchronous_commit = off',
} as const
