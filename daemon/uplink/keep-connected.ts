import { type ErrorCode, ShoalError } from '../../shared/errors.ts'
import { wait as realWait, type Wait } from '../../shared/wait.ts'
import { reconnectMs } from '../backoff.ts'
import type { HealthRegistry } from '../health.ts'
import type { Nudge } from './nudge.ts'
import type { QuarantineNotice } from './quarantine-notice.ts'

interface ConnectionOptions {
  /** Name in the health view. */
  name: string
  /**
   * One connection from beginning to end: calls `onUp` once it is usable, and resolves or rejects
   * when it is over.
   */
  connect(onUp: () => void): Promise<void>
  signal: AbortSignal
  health: HealthRegistry
  /** Shared by all connections to one coordinator. */
  nudge: Nudge
  quarantine?: QuarantineNotice | undefined
  wait?: Wait
  random?: () => number
  /** Milliseconds of a clock that never goes back. */
  now?: () => number
}

/** A connection that lasted this long was healthy: the next retry is fast again. */
const SOUND_MS = 5000
/** Retry interval for states that need operator action, such as after a revocation. */
const SLOW_MS = 60_000
const needsPerson: ErrorCode[] = ['auth_required', 'forbidden', 'upgrade_required']

/** Connects again and again until the signal aborts, with growing pauses. */
export const keepConnected = async (options: ConnectionOptions): Promise<void> => {
  const { name, connect, signal, health, nudge, quarantine } = options
  const { wait = realWait, random = Math.random } = options
  const now = options.now ?? (() => performance.now())
  let attempt = 0
  while (!signal.aborted) {
    let upAt = Number.POSITIVE_INFINITY
    const error = await connect(() => {
      upAt = now()
      health.report(name, 'running')
      nudge.ring()
      quarantine?.onAccepted()
    }).then(
      () => new Error('the connection ended'),
      (cause: Error) => cause,
    )
    if (signal.aborted) break
    if (now() - upAt >= SOUND_MS) attempt = 0
    health.report(name, 'waiting', plainly(error))
    quarantine?.onRefused(error)
    await nudge.wait(wait, pauseMs(error, attempt++, random), signal)
  }
  health.report(name, 'stopped')
}

const pauseMs = (error: Error, attempt: number, random: () => number): number => {
  if (!(error instanceof ShoalError)) return reconnectMs(attempt, random)
  if (needsPerson.includes(error.code)) return SLOW_MS * (1 - random() / 2)
  const asked = Math.min(SLOW_MS, (error.retryAfterSeconds ?? 0) * 1000)
  return Math.max(asked, reconnectMs(attempt, random))
}

const plainly = (error: Error): string =>
  error instanceof ShoalError && error.code === 'auth_required'
    ? `the coordinator refuses this cell's credential (${error.message}); it may be revoked`
    : error.message
