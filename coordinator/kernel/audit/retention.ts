import type { Logger } from 'pino'
import type { Signer } from '../../../shared/signing.ts'
import { DAY_MS } from '../../../shared/time.ts'
import type { Wait } from '../../../shared/wait.ts'
import { fenceLedger } from '../leader/fence.ts'
import type { Leader } from '../leader/leader.ts'
import type { Ledger } from '../store/store.ts'
import type { AuditGuard } from './guard.ts'
import { purgeAudit } from './purge.ts'
import { BELIEVED_DAYS, openPurgeClock, type PurgeClock } from './purge-clock.ts'

interface RetentionParts {
  ledger: Ledger
  signer: Signer
  guard: Pick<AuditGuard, 'checked' | 'trouble' | 'suspect'>
  /** Leader election: only the leader purges, and a process that was superseded is refused. */
  leader: Pick<Leader, 'isLeader' | 'requireLeader'>
  retentionDays: number
  logger: Pick<Logger, 'info' | 'warn'>
  signal: AbortSignal
  /** Unix milliseconds. */
  now: () => number
  /** Monotonic milliseconds. */
  nowMs: () => number
  wait: Wait
}

const HOUR_MS = 3_600_000

/**
 * Purges the audit at the start and once a day. Rows go that are older than the retention and the
 * week that the clock may be ahead, and never a row from after a gate's oldest open request was made.
 * Resolves when the signal has aborted.
 */
export const keepRetention = async (given: RetentionParts): Promise<void> => {
  const { guard, leader, logger, signal, wait } = given
  const parts = { ...given, ledger: fenceLedger(given.ledger, leader) }
  let clock: PurgeClock | undefined
  let purgedOn: number | undefined

  const round = async (): Promise<void> => {
    if (!leader.isLeader()) return
    clock ??= await openPurgeClock(parts)
    const at = await clock.tick()
    if (at === undefined) logger.warn('the clock was set back; no audit rows are purged')
    if (at === undefined || Math.floor(at / DAY_MS) === purgedOn) return
    await purgeOnce(parts, at)
    purgedOn = Math.floor(at / DAY_MS)
  }

  await guard.checked
  while (!signal.aborted) {
    if (guard.trouble() === undefined)
      await round().catch(error => logger.warn({ err: error }, 'the audit was not purged'))
    await wait(HOUR_MS, signal)
  }
}

const purgeOnce = async (parts: RetentionParts, at: number): Promise<void> => {
  const { ledger, guard, retentionDays, logger } = parts
  const end = at - (retentionDays + BELIEVED_DAYS) * DAY_MS
  const before = Math.min(end, await oldestOpen(ledger))
  const rows = await purgeAudit({ ...parts, suspect: reason => guard.suspect(reason) }, before)
  if (rows > 0) logger.info({ rows, before }, 'expired audit rows were purged')
}

/** Creation time of the oldest request that is pending or approved: its evidence is kept. */
const oldestOpen = async ({ read }: Ledger): Promise<number> => {
  const row = await read
    .selectFrom('gate_requests')
    .select(({ fn }) => fn.min('created_at').as('at'))
    .where('state', 'in', ['pending', 'approved'])
    .executeTakeFirst()
  return row?.at ?? Infinity
}
