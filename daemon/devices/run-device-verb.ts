import { DeviceFailure, TAKEN_OVER, UNCONFIRMED } from '../../devices/device-failure.ts'
import type { Execution } from '../../devices/device-link.ts'
import { checkRunning } from '../../devices/envelope/check-envelope.ts'
import type { DeviceVerb, Json } from '../../devices/profile.ts'
import { isRestObservable } from '../../devices/rest-observer.ts'
import { ShoalError } from '../../shared/errors.ts'
import { describeCheck } from '../../shared/wire/describe-check.ts'
import type { EstopBehaviour } from '../../shared/wire/device.ts'
import { type DeviceOutcome, isConfirmed, NOTHING_SEEN } from '../../shared/wire/device-outcome.ts'
import type { PlanPart, Precondition } from '../../shared/wire/plan-part.ts'
import { CommandFailure, type CommandRefusal } from '../commands/outcome.ts'
import type { RunContext } from '../commands/verb.ts'
import { type CheckContext, checkStart, gatherCheck } from './device-checks.ts'
import type { DeviceRuns } from './device-runs.ts'
import type { HostedDevice } from './hosted-device.ts'
import { behaviourOf, brakingOf } from './rest/braking.ts'
import { describeOutcome } from './rest/describe-outcome.ts'
import type { RestKeeper } from './rest/rest-keeper.ts'
import { watchEnvelope } from './watch-envelope.ts'
import { watchPresence } from './watch-presence.ts'

/** Finds the behaviour of an e-stop for a device that it holds, the operations asked and the state observed. */
export type FindEstopResponse = (
  deviceId: string,
) => { estop_id: string; behaviour: EstopBehaviour; outcome: DeviceOutcome } | undefined

export interface DeviceVerbContext extends CheckContext {
  runs: DeviceRuns
  keeper: Pick<RestKeeper, 'bringToRest' | 'replace'>
  findEstopResponse?: FindEstopResponse
}

interface RunningVerb {
  name: string
  verb: DeviceVerb
  hosted: HostedDevice
  context: DeviceVerbContext
}

/**
 * Runs a verb of a device, and notes what was asked and observed. One that moves the device, or
 * stops it, ends with a device that was seen at its goal or at rest, where the device shows that.
 */
export const runDeviceVerb = async (
  running: RunningVerb,
  part: PlanPart,
  context: RunContext,
): Promise<Json> => {
  const { keeper, now } = running.context
  const { noteOutcome = () => {} } = context
  if (running.verb.isUrgent) {
    const answer = answerUnderEstop(running, noteOutcome)
    if (answer !== undefined) return answer
  }
  const time = { begun: now(), ended: undefined as number | undefined }
  const execution = await performVerb(running, part, context, time).catch(error =>
    endVerb(running, part, context, { error, since: time.ended ?? now() }),
  )
  const { result = null, asked, seen } = execution
  noteOutcome({ asked, seen })
  if (mustRest(running, part) && !isConfirmed(seen)) {
    const order = { outcome: { asked, seen }, since: time.begun, cause: undefined }
    noteOutcome(await confirmRest(running, order, noteOutcome))
  }
  if (replacesStop(running.verb, part)) keeper.replace(running.hosted.device.deviceId)
  return result
}

/**
 * Answers a stop of a device that an e-stop holds with what that e-stop does: nothing is sent, which
 * could end a landing or a power-off.
 */
const answerUnderEstop = (
  { name, hosted, context }: RunningVerb,
  noteOutcome: (outcome: DeviceOutcome) => void,
): Json | undefined => {
  const { deviceId, name: deviceName } = hosted.device
  const response = context.findEstopResponse?.(deviceId)
  if (response === undefined || response.behaviour === 'none') return undefined
  const { estop_id, behaviour, outcome } = response
  noteOutcome(outcome)
  if (isConfirmed(outcome.seen)) return { estop_id, behaviour }
  throw new CommandFailure(
    'estop_under_way',
    `e-stop ${estop_id} is in force and has its own response (${behaviour}), which ${name} would ` +
      `end; nothing was sent to ${deviceName}: ${describeOutcome(outcome)}`,
  )
}

interface VerbEnd {
  error: unknown
  /** Time at which the verb was ended, in unix milliseconds. */
  since: number
}

/**
 * Brings a device to rest after a verb that failed or was ended; only a stop can still succeed.
 * @throws CommandFailure
 */
const endVerb = async (
  running: RunningVerb,
  part: PlanPart,
  { signal, noteOutcome = () => {} }: RunContext,
  { error, since }: VerbEnd,
): Promise<Execution> => {
  const outcome = error instanceof DeviceFailure ? withoutOlder(error.outcome, since) : NOTHING_SEEN
  if (error instanceof DeviceFailure) noteOutcome(outcome)
  const failure = toCommandFailure(error, signal)
  const isTold = isEnded(error, signal)
  if (!needsRest(running, part, signal, error)) throw isTold ? describeTold(failure) : failure
  const isOwn = running.verb.isUrgent !== true
  const order = { outcome, since, cause: failure, isUnsent: !isTold, isOwn }
  const rest = await confirmRest(running, order, noteOutcome)
  if (running.verb.isUrgent) return rest
  throw new CommandFailure(failure.reason, `it was stopped: ${failure.message}`)
}

/** Observations from before the end of a verb say nothing about its device after it. */
const withoutOlder = ({ asked, seen }: DeviceOutcome, since: number): DeviceOutcome => ({
  asked,
  seen: seen.at !== null && seen.at >= since ? seen : NOTHING_SEEN.seen,
})

/** A verb that ended, whose device must be seen at rest. */
interface EndedVerb {
  outcome: DeviceOutcome
  since: number
  /** Reason why it ended; undefined for a stop that the device has acknowledged. */
  cause: CommandFailure | undefined
  isUnsent?: boolean
  isOwn?: boolean
}

/** @throws CommandFailure `unconfirmed` when the device is not seen at rest in time */
const confirmRest = async (
  { name, verb, hosted, context }: RunningVerb,
  { outcome, since, cause, isUnsent = false, isOwn = false }: EndedVerb,
  noteOutcome: (outcome: DeviceOutcome) => void,
): Promise<DeviceOutcome> => {
  if (isConfirmed(outcome.seen)) return outcome
  const { deviceId, name: deviceName, profile } = hosted.device
  const behaviour = verb.isUrgent ? behaviourOf(name, profile.atEstop) : brakingOf(profile.atEstop)
  const why = cause?.message ?? `${name} was asked`
  const reason = `${name}: ${why}`
  const order = { deviceId, behaviour, reason, since, outcome, isUnsent, isOwn }
  const kept = await context.keeper.bringToRest(order)
  noteOutcome(kept.outcome)
  if (kept.end === 'at_rest') return kept.outcome
  if (kept.end === 'taken_over')
    throw new CommandFailure(
      TAKEN_OVER,
      `${why}; ${deviceName} was taken over, by a pilot or a failsafe, and is left alone`,
    )
  throw new CommandFailure(
    UNCONFIRMED,
    `${why}; ${deviceName} was not seen at rest: ${describeOutcome(kept.outcome)}`,
  )
}

/** Verbs after which a device that shows it is seen at its goal or at rest. */
const mustRest = ({ verb, hosted }: RunningVerb, { bounds }: PlanPart): boolean =>
  (verb.isUrgent === true || bounds.motion !== undefined) && isRestObservable(hosted.device.profile)

/**
 * True for a verb after which an older stop is not repeated: one that may move the device, or has
 * stopped it. One that an e-stop leaves alone, such as that of a lamp, says nothing of its motion.
 */
const replacesStop = ({ isUrgent, atEstop }: DeviceVerb, { hazard }: PlanPart): boolean =>
  isUrgent === true || hazard === 'unsafe' || (hazard !== 'read' && atEstop !== 'none')

/** Reasons of failures after which nothing moves by a verb, or somebody else is in charge. */
const SETTLED = ['conflict', 'forbidden', 'invalid_request', 'not_found', TAKEN_OVER]
/** Failures of a stop: a device that refuses one stays in motion. */
const SETTLED_STOP = ['invalid_request', 'not_found', TAKEN_OVER]

/** True when a verb has ended in a way that leaves its device in motion. */
const needsRest = (
  running: RunningVerb,
  part: PlanPart,
  signal: AbortSignal,
  error: unknown,
): boolean => {
  if (!mustRest(running, part)) return false
  if (isEnded(error, signal)) return true
  // at the end of the daemon, and under a newer order, others bring it to rest
  if (signal.aborted) return false
  const { reason } = toCommandFailure(error, signal)
  if (running.verb.isUrgent) return !SETTLED_STOP.includes(reason)
  return error instanceof DeviceFailure && wasAsked(error) && !SETTLED.includes(reason)
}

const wasAsked = ({ outcome }: DeviceFailure): boolean => outcome.asked.sent.length > 0

/** True for a verb that its time limit or a watch has ended: its link has told the device to stop. */
const isEnded = (error: unknown, { reason: limit }: AbortSignal): boolean =>
  limit instanceof CommandFailure ||
  (error instanceof DeviceFailure && error.cause instanceof CommandFailure)

const describeTold = ({ reason, message }: CommandFailure): CommandFailure =>
  new CommandFailure(reason, `${message}; a stop was ordered`)

/** Reason why a verb has ended: that of its time limit, of its watch, or of its link. */
const toCommandFailure = (error: unknown, { reason: limit }: AbortSignal): CommandFailure => {
  if (limit instanceof CommandFailure) return limit
  if (error instanceof CommandFailure) return error
  if (error instanceof DeviceFailure)
    return error.cause instanceof CommandFailure
      ? error.cause
      : new CommandFailure(error.reason, error.message)
  const message = error instanceof Error ? error.message : String(error)
  return new CommandFailure(error instanceof ShoalError ? error.code : 'error', message)
}

/** Sends the operations once the device is free, and ends at the first limit that does not hold. */
const performVerb = async (
  { name, verb, hosted, context }: RunningVerb,
  part: PlanPart,
  { signal, report, findRefusal: refusal }: RunContext,
  time: { ended: number | undefined },
): Promise<Execution> => {
  const { link, device } = hosted
  const { deviceId } = device
  const { runs } = context
  const { operations, bounds, hazard } = part
  // an overtaken verb first brings the device to rest; only urgent ones do not wait for that
  if (verb.isUrgent) runs.noteHalt(deviceId)
  else if (runs.listRunning(deviceId).length > 0) {
    await runs.waitUntilIdle(deviceId)
    signal.throwIfAborted()
    requireStill(refusal?.(), checkStart(part, hosted, verb, context))
  }
  signal.throwIfAborted()
  if (hazard === 'caution' || hazard === 'unsafe') runs.noteStart(deviceId)
  const execute = (until: AbortSignal) =>
    runs.track(hosted, name, () =>
      link.execute(deviceId, operations, { signal: until, report, bounds }),
    )
  if (verb.isUrgent) return execute(signal)
  const check = () => checkRunning(gatherCheck(part, hosted, verb, context))
  const onChange = (listener: () => void) => link.onChange(listener)
  const watches = [
    watchPresence(hosted, hazard),
    ...(bounds.motion === undefined ? [] : [watchEnvelope({ signal, check, onChange })]),
  ]
  const until = AbortSignal.any([signal, ...watches.map(watch => watch.signal)])
  const noteEnd = (): void => {
    time.ended = context.now()
  }
  until.addEventListener('abort', noteEnd, { once: true })
  return runWatched(execute, until, watches)
}

/** Runs something until one of its watches aborts, which is then the cause of the failure. */
const runWatched = async (
  execute: (until: AbortSignal) => Promise<Execution>,
  until: AbortSignal,
  watches: readonly { signal: AbortSignal; stop(): void }[],
): Promise<Execution> => {
  try {
    until.throwIfAborted()
    return await execute(until)
  } catch (error) {
    const violated = watches.find(watch => watch.signal.aborted)
    if (violated === undefined) throw error
    const { outcome = NOTHING_SEEN } = error instanceof DeviceFailure ? error : {}
    const { reason: cause } = violated.signal
    throw new DeviceFailure(cause.reason, cause.message, outcome, { cause })
  } finally {
    for (const watch of watches) watch.stop()
  }
}

/** The wait for a device has no limit but that of the verb: time, approval and readings are older. */
const requireStill = (
  refusal: CommandRefusal | undefined,
  checks: readonly Precondition[],
): void => {
  if (refusal !== undefined) throw new CommandFailure(refusal.reason, refusal.message)
  const failing = checks.find(({ holds }) => !holds)
  if (failing !== undefined) throw new CommandFailure('precondition_failed', describeCheck(failing))
}
