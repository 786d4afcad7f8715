import { setTimeout as sleep } from 'node:timers/promises'
import { canonicalJson } from '../../shared/canonical-json.ts'
import { ShoalError } from '../../shared/errors.ts'
import {
  type Ack,
  type Command,
  type CommandProgress,
  isHarmless,
  MAX_RESULT_BYTES,
  PLAIN_RESULT_BYTES,
} from '../../shared/wire/command.ts'
import { type DryRun, hashPart, type Precondition } from '../../shared/wire/plan-part.ts'
import { type Outcome, overtakenOutcome, type Refusal, rejected, short } from './outcome.ts'
import type { Planned } from './plan-command.ts'

export interface Circumstances {
  /** Aborts when the daemon stops. */
  stop: AbortSignal
  /** Aborts when an urgent command of the same device came. */
  overtaken: AbortSignal
  /** Why it may not begin at this moment. */
  refusal: () => Refusal | undefined
  report: (progress: CommandProgress) => void
  /** Milliseconds of a clock that never goes back. */
  nowMs: () => number
}

/** At least so long between two reports of one command. */
const REPORT_EVERY_MS = 1000

/**
 * Runs a verb within its time. Answers undefined when the daemon stops meanwhile: then the journal
 * says that it was executing, and the next start says what that means.
 */
export const carryOut = async (
  planned: Planned,
  command: Command,
  circumstances: Circumstances,
): Promise<Outcome | undefined> => {
  const { stop, overtaken } = circumstances
  const over = new AbortController()
  const signal = AbortSignal.any([stop, overtaken, over.signal])
  const life = { hasBegun: false }
  try {
    const work = performWork(planned, command, { ...circumstances, signal, life })
    const late = sleep(planned.verb.timeout_seconds * 1000, undefined, { signal })
    const outcome = await Promise.race([work, late])
    if (stop.aborted) return undefined
    return outcome ?? tooLate(planned, command, life.hasBegun)
  } catch (error) {
    if (stop.aborted) return undefined
    if (overtaken.aborted) return overtakenOutcome(command, life.hasBegun)
    const reason = error instanceof ShoalError ? error.code : 'error'
    return { state: 'failed', reason, message: short((error as Error).message) }
  } finally {
    over.abort()
  }
}

interface Work extends Circumstances {
  signal: AbortSignal
  life: { hasBegun: boolean }
}

/** The checks come first, and the last look at the clock after them. */
const performWork = async (
  { verb, part }: Planned,
  command: Command,
  { signal, life, refusal, report, nowMs }: Work,
): Promise<Outcome> => {
  signal.throwIfAborted()
  const checks = (await verb.check?.(part, signal)) ?? []
  if (command.mode === 'dry')
    return succeeded({ part, part_hash: hashPart(part), checks } satisfies DryRun, command)
  const failing = checks.find(({ holds }) => !holds)
  if (failing !== undefined) return preconditionFailed(failing)
  signal.throwIfAborted()
  const refused = refusal()
  if (refused !== undefined) return refused
  life.hasBegun = true
  const context = { signal, report: boundedReport(report, signal, nowMs) }
  return succeeded(await verb.run(part, context), command)
}

const preconditionFailed = ({ name, observed, limit }: Precondition): Refusal =>
  rejected(
    'precondition_failed',
    `${name} is ${JSON.stringify(observed)}, and the limit is ${JSON.stringify(limit)}`,
  )

/** Reports until the signal aborts, which it does before the end is acknowledged. */
const boundedReport = (
  report: Circumstances['report'],
  signal: AbortSignal,
  nowMs: () => number,
) => {
  let lastMs = Number.NEGATIVE_INFINITY
  return ({ percent = null, message = null }: Partial<CommandProgress>): void => {
    if (signal.aborted || nowMs() - lastMs < REPORT_EVERY_MS) return
    lastMs = nowMs()
    const bounded = percent === null ? null : Math.min(100, Math.max(0, percent))
    report({ percent: bounded, message: message && short(message).slice(0, 200).toWellFormed() })
  }
}

const succeeded = (
  result: Exclude<Ack['result'], undefined>,
  { max_result_bytes = PLAIN_RESULT_BYTES }: Command,
): Outcome => {
  try {
    const maxBytes = Math.min(max_result_bytes, MAX_RESULT_BYTES)
    if (Buffer.byteLength(canonicalJson(result)) <= maxBytes) return { state: 'succeeded', result }
    return { state: 'succeeded', message: 'the result is too large to be told' }
  } catch {
    return { state: 'succeeded', message: 'the result cannot be signed' }
  }
}

const tooLate = ({ verb }: Planned, command: Command, hasBegun: boolean): Outcome => ({
  state: isHarmless(command) || !hasBegun ? 'failed' : 'unknown',
  reason: 'timeout',
  message: `no end within ${verb.timeout_seconds} s`,
})
