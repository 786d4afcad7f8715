import { DeviceFailure } from '../../devices/device-failure.ts'
import type { Execution } from '../../devices/device-link.ts'
import { checkRunning } from '../../devices/envelope/check-envelope.ts'
import { toSafetyEnvelope } from '../../devices/envelope/merge-envelopes.ts'
import type { DeviceVerb, Json, PlanTarget } from '../../devices/profile.ts'
import { canonicalHash } from '../../shared/canonical-hash.ts'
import { describeCheck } from '../../shared/wire/describe-check.ts'
import type { PlanPart, Precondition } from '../../shared/wire/plan-part.ts'
import { CommandFailure, type CommandRefusal, toRejection } from '../commands/outcome.ts'
import type { RunContext, Verb, VerbPlan } from '../commands/verb.ts'
import { type CheckContext, checkStart, gatherCheck, mergeLimits } from './device-checks.ts'
import type { DeviceRuns } from './device-runs.ts'
import type { HostedDevice } from './hosted-device.ts'
import { watchEnvelope } from './watch-envelope.ts'
import { watchPresence } from './watch-presence.ts'

export interface DeviceVerbContext extends CheckContext {
  runs: DeviceRuns
}

/** Creates a verb of one device for the executor, with the limits in force now. */
export const createDeviceVerb = (
  name: string,
  verb: DeviceVerb,
  hosted: HostedDevice,
  context: DeviceVerbContext,
): Verb => ({
  verb: name,
  description: verb.description,
  hazard: verb.hazard,
  timeout_seconds: verb.timeoutSeconds,
  urgent: verb.isUrgent === true,
  params: verb.params,
  findRefusal: () => findRefusal(verb, hosted),
  hazardOf: params => verb.hazardOf?.(params) ?? verb.hazard,
  plan: params => planVerb(verb, params, hosted),
  check: async part => checkStart(part, hosted, verb, context),
  run: (part, running) => runVerb({ name, verb, hosted, context }, part, running),
})

/** The hash of the limits is part of the plan: a changed limit voids an approval. */
const planVerb = (
  verb: DeviceVerb,
  params: Record<string, unknown>,
  hosted: HostedDevice,
): VerbPlan => {
  const { deviceId, options } = hosted.device
  const envelope = toSafetyEnvelope(mergeLimits(hosted, verb))
  const target: PlanTarget = { device_id: deviceId, options, envelope }
  const { operations, motion, bounds } = verb.plan(params, target)
  const gate = verb.gateOf?.(params) ?? verb.gate
  return {
    operations,
    bounds: {
      ...bounds,
      ...(motion && { motion: motion as unknown as Json }),
      envelope: canonicalHash(envelope),
    },
    ...(gate !== undefined && { gate }),
  }
}

interface RunningVerb {
  name: string
  verb: DeviceVerb
  hosted: HostedDevice
  context: DeviceVerbContext
}

/** Runs a verb; one that moves the device is watched, and ends when a limit no longer holds. */
const runVerb = async (
  { name, verb, hosted, context }: RunningVerb,
  part: PlanPart,
  { signal, report, findRefusal: refusal, noteOutcome }: RunContext,
): Promise<Json> => {
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
    noteExecution(noteOutcome, () =>
      runs.track(hosted, name, () =>
        link.execute(deviceId, operations, { signal: until, report, bounds }),
      ),
    )
  if (verb.isUrgent) return execute(signal)
  const check = () => checkRunning(gatherCheck(part, hosted, verb, context))
  const onChange = (listener: () => void) => link.onChange(listener)
  return runWatched(execute, signal, [
    watchPresence(hosted, hazard),
    ...(bounds.motion === undefined ? [] : [watchEnvelope({ signal, check, onChange })]),
  ])
}

/** Notes what was asked and observed, whether an execution resolves or rejects. */
const noteExecution = async (
  noteOutcome: RunContext['noteOutcome'],
  execute: () => Promise<Execution>,
): Promise<Json> => {
  try {
    const { result = null, asked, seen } = await execute()
    noteOutcome?.({ asked, seen })
    return result
  } catch (error) {
    if (!(error instanceof DeviceFailure)) throw error
    noteOutcome?.(error.outcome)
    throw new CommandFailure(error.reason, error.message)
  }
}

/** Runs something until one of its watches aborts, whose reason is then that of the failure. */
const runWatched = async (
  execute: (until: AbortSignal) => Promise<Json>,
  signal: AbortSignal,
  watches: readonly { signal: AbortSignal; stop(): void }[],
): Promise<Json> => {
  try {
    const until = AbortSignal.any([signal, ...watches.map(watch => watch.signal)])
    until.throwIfAborted()
    return await execute(until)
  } catch (error) {
    const violated = watches.find(watch => watch.signal.aborted)
    throw violated === undefined ? error : violated.signal.reason
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

/** What is urgent is tried in any case; reading does not need a writable device. */
const findRefusal = (
  { isUrgent, hazard }: DeviceVerb,
  { device: { deviceId, available, writable, reason } }: HostedDevice,
): CommandRefusal | undefined => {
  if (isUrgent) return undefined
  const why = reason === undefined ? '' : `: ${reason}`
  if (!available) return toRejection('device_unavailable', `${deviceId} cannot be reached${why}`)
  if (writable || hazard === 'read') return undefined
  return toRejection('device_not_writable', `${deviceId} accepts no commands${why}`)
}
