import { setTimeout as sleep } from 'node:timers/promises'
import { canonicalJson } from '../../shared/canonical-json.ts'
import { wait } from '../../shared/wait.ts'
import {
  type Ack,
  type Command,
  type CommandProgress,
  isHarmless,
  MAX_RESULT_BYTES,
  PLAIN_RESULT_BYTES,
} from '../../shared/wire/command.ts'
import { describeCheck } from '../../shared/wire/describe-check.ts'
import { type DeviceOutcome, limitOutcome } from '../../shared/wire/device-outcome.ts'
import { type DryRun, hashPart } from '../../shared/wire/plan-part.ts'
import {
  CommandFailure,
  type CommandOutcome,
  type CommandRefusal,
  shorten,
  toFailure,
  toInterruptedBy,
  toRejection,
} from './outcome.ts'
import type { PlannedCommand } from './plan-command.ts'
import type { Verb } from './verb.ts'

type Json = Exclude<Ack['result'], undefined>

interface Circumstances {
  /** Aborts when the daemon stops. */
  stop: AbortSignal
  /** Aborts with an `Interruption`: an urgent command of the same device, or an e-stop. */
  interrupted: AbortSignal
  /** Reason why the command must not begin now, if any. */
  findRefusal: () => CommandRefusal | undefined
  report: (progress: CommandProgress) => void
  /** Monotonic clock, in milliseconds. */
  nowMs: () => number
}

/** Shortest interval between two progress reports of one command, in milliseconds. */
const REPORT_EVERY_MS = 1000

/**
 * Runs a verb within its time limit. Returns undefined when the daemon stops meanwhile: the journal
 * then has the command as executing, and the next start settles it.
 */
export const executeCommand = async (
  planned: PlannedCommand,
  command: Command,
  circumstances: Circumstances,
): Promise<CommandOutcome | undefined> => {
  const life: CommandLife = { hasBegun: false }
  const outcome = await findOutcome(planned, command, circumstances, life)
  return outcome && { ...findResult(life, command), ...outcome, ...life.outcome }
}

/** Known facts about a running command. */
interface CommandLife {
  hasBegun: boolean
  /** Operations sent to its device, and the state observed. */
  outcome?: DeviceOutcome
  /** Result of a verb that fails. */
  result?: Json
}

const findOutcome = async (
  planned: PlannedCommand,
  command: Command,
  circumstances: Circumstances,
  life: CommandLife,
): Promise<CommandOutcome | undefined> => {
  const { stop, interrupted } = circumstances
  const over = new AbortController()
  const signal = AbortSignal.any([stop, interrupted, over.signal])
  const work = performWork(planned, command, { ...circumstances, signal, life })
  try {
    const late = sleep(planned.verb.timeout_seconds * 1000, undefined, { signal })
    const outcome = await Promise.race([work, late])
    if (stop.aborted) return undefined
    return outcome ?? (await endLate(planned, command, { work, over, life }))
  } catch (error) {
    // what was asked and observed until the interruption is known at the end of the work
    if (interrupted.aborted) await waitForEnd(work, planned.verb, stop)
    if (stop.aborted) return undefined
    if (interrupted.aborted) return toInterruptedBy(interrupted.reason, command, life.hasBegun)
    return toFailure(error as Error)
  } finally {
    over.abort()
  }
}

interface Work extends Circumstances {
  signal: AbortSignal
  life: CommandLife
}

/** Runs the checks first, and re-validates time and approval after them. */
const performWork = async (
  { verb, part }: PlannedCommand,
  command: Command,
  { signal, life, findRefusal: refusal, report, nowMs }: Work,
): Promise<CommandOutcome> => {
  signal.throwIfAborted()
  const checks = (await verb.check?.(part, signal)) ?? []
  if (command.mode === 'dry')
    return toSuccess({ part, part_hash: hashPart(part), checks } satisfies DryRun, command)
  const failing = checks.find(({ holds }) => !holds)
  if (failing !== undefined) return toRejection('precondition_failed', describeCheck(failing))
  signal.throwIfAborted()
  const refused = refusal()
  if (refused !== undefined) return refused
  life.hasBegun = true
  const limited = limitReports(report, signal, nowMs)
  const noteOutcome = (outcome: DeviceOutcome): void => {
    life.outcome = limitOutcome(outcome)
  }
  const noteResult = (result: Json): void => {
    life.result = result
  }
  const notes = { noteOutcome, noteResult }
  const context = { signal, report: limited, ...notes, command, findRefusal: refusal }
  return toSuccess(await verb.run(part, context), command)
}

/** Rate-limits reports. Stops at the abort, which precedes the final ack. */
const limitReports = (
  report: Circumstances['report'],
  signal: AbortSignal,
  nowMs: () => number,
) => {
  let lastMs = Number.NEGATIVE_INFINITY
  return ({ percent = null, message = null }: Partial<CommandProgress>): void => {
    if (signal.aborted || nowMs() - lastMs < REPORT_EVERY_MS) return
    lastMs = nowMs()
    const bounded = percent === null ? null : Math.min(100, Math.max(0, percent))
    report({ percent: bounded, message: message && shorten(message).slice(0, 200).toWellFormed() })
  }
}

const toSuccess = (result: Json, command: Command): CommandOutcome => {
  const reason = findUnsendable(result, command)
  if (reason === undefined) return { state: 'succeeded', result }
  return { state: 'succeeded', message: reason }
}

const findResult = ({ result }: CommandLife, command: Command): Pick<CommandOutcome, 'result'> =>
  result === undefined || findUnsendable(result, command) !== undefined ? {} : { result }

/** Reason why a result cannot be part of an ack. */
const findUnsendable = (
  result: Json,
  { max_result_bytes = PLAIN_RESULT_BYTES }: Command,
): string | undefined => {
  try {
    const maxBytes = Math.min(max_result_bytes, MAX_RESULT_BYTES)
    const isTooLarge = Buffer.byteLength(canonicalJson(result)) > maxBytes
    return isTooLarge ? 'the result is too large to be sent' : undefined
  } catch {
    return 'the result cannot be signed'
  }
}

interface LateWork {
  work: Promise<CommandOutcome>
  over: AbortController
  life: CommandLife
}

/** Ends a verb at its time limit; what it then says of its device is the outcome. */
const endLate = async (
  { verb }: PlannedCommand,
  command: Command,
  { work, over, life }: LateWork,
): Promise<CommandOutcome> => {
  const failure = new CommandFailure(
    'timeout',
    `it did not finish within ${verb.timeout_seconds} s`,
  )
  over.abort(failure)
  const end = await waitForEnd(work, verb)
  if (end !== undefined && !(end instanceof Error)) return end
  if (end instanceof CommandFailure && end !== failure) return toFailure(end)
  return {
    state: isHarmless(command) || !life.hasBegun ? 'failed' : 'unknown',
    reason: 'timeout',
    message: failure.message,
  }
}

/** Waits for a verb that was ended and brings its device to rest, for as long as that may take. */
const waitForEnd = async (
  work: Promise<CommandOutcome>,
  { restSeconds = 0 }: Pick<Verb, 'restSeconds'>,
  signal?: AbortSignal,
): Promise<CommandOutcome | Error | undefined> => {
  const atEnd = new AbortController()
  const until = signal ? AbortSignal.any([atEnd.signal, signal]) : atEnd.signal
  const settled = work.catch((error: Error) => error)
  const end = await Promise.race([settled, wait(restSeconds * 1000, until).then(() => undefined)])
  atEnd.abort()
  return end
}
