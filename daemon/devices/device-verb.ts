import { toSafetyEnvelope } from '../../devices/envelope/merge-envelopes.ts'
import type { DeviceVerb, Json, PlanTarget } from '../../devices/profile.ts'
import { canonicalHash } from '../../shared/canonical-hash.ts'
import { type CommandRefusal, toRejection } from '../commands/outcome.ts'
import type { Verb, VerbPlan } from '../commands/verb.ts'
import { checkStart, mergeLimits } from './device-checks.ts'
import type { HostedDevice } from './hosted-device.ts'
import { type DeviceVerbContext, runDeviceVerb } from './run-device-verb.ts'

/** Longest wait for the rest of a device whose verb was ended; its keeper gives up before. */
const REST_LIMIT_SECONDS = 30

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
  restSeconds: REST_LIMIT_SECONDS,
  run: (part, running) => runDeviceVerb({ name, verb, hosted, context }, part, running),
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

/** An urgent verb is tried in any case; reading does not need a writable device. */
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
