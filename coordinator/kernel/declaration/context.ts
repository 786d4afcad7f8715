import type { Runtime } from '../../../shared/runtime.ts'
import type { Actor } from '../audit/audit.ts'
import type { Key } from './key.ts'
import type { Outcome } from './outcome.ts'
import type { Upload } from './upload.ts'

/** The caller of an operation, as every surface knows it. */
export interface TaskCaller {
  /** Undefined without a key: for operations with access `none`. */
  key: Key | undefined
  tenantId: string | undefined
  requestId: string
  /** Network of the caller: an IPv4 address, or the /64 of an IPv6 one. */
  address?: string | undefined
}

/** Progress of a call; the operation decides what the numbers count. */
export interface Progress {
  done?: number
  total?: number
  /** Progress text for people. */
  message?: string
  data?: unknown
}

/** A skill that is called inside another call, with its caller. */
interface SkillCall {
  input: unknown
  /** Runs once the call was admitted, before it runs. */
  onAdmitted?: () => Promise<void>
  /** True when the outer call was counted for this one too. */
  isCounted?: boolean
  /** Ends the call when it aborts; the signal of the outer call by default. */
  ends?: AbortSignal
}

export type CallSkill = (skillId: string, call: SkillCall) => Promise<Outcome>

/**
 * One call. An operation that needs more states the views of the domains that it acts on beside it,
 * as in `Context & QuotaViews`.
 */
export interface Context extends TaskCaller {
  /** The actor in the audit. */
  actor: Actor
  /** Unix time, milliseconds. */
  now: () => number
  /** Clocks, timers, randomness and ids of this process. */
  runtime: Runtime
  /** Aborts when the time is up or the caller has left. */
  signal: AbortSignal
  /** The cell to run on, where the caller named one and the operation takes one. */
  cellId?: string | undefined
  /** The file that was sent, where the operation takes one. */
  upload?: Upload | undefined
  /**
   * Reports progress; without effect where nobody listens. A promise resolves when the caller can
   * take more: an operation that reports often waits for it.
   */
  progress: Report
  /** Sends an event to the caller as `progress` does; absent where nobody listens. */
  tell?: Tell | undefined
  /** Calls a skill as any surface does. Throws `ShoalError`, such as `not_found`. */
  callSkill: CallSkill
}

export type Report = (progress: Progress) => Promise<void> | void
/** An event of a call. */
export interface Told {
  event: string
  data: unknown
}
export type Tell = (told: Told) => Promise<void> | void
