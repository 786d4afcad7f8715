import {
  mergeEnvelopes,
  type SourcedEnvelope,
  toSafetyEnvelope,
} from '../../devices/envelope/merge-envelopes.ts'
import type { DeviceVerb, Json } from '../../devices/profile.ts'
import { canonicalHash } from '../../shared/canonical-hash.ts'
import { type CommandRefusal, toRejection } from '../commands/outcome.ts'
import type { Verb } from '../commands/verb.ts'
import type { DeviceRuns } from './device-runs.ts'
import type { HostedDevice } from './hosted-device.ts'

/** Creates a verb of one device for the executor, with the limits in force now. */
export const createDeviceVerb = (
  name: string,
  verb: DeviceVerb,
  hosted: HostedDevice,
  runs: DeviceRuns,
): Verb => {
  const { device, link } = hosted
  const envelope = toSafetyEnvelope(mergeEnvelopes(listLimits(hosted, verb)))
  const hash = canonicalHash(envelope)
  const target = { device_id: device.deviceId, options: device.options, envelope }
  return {
    verb: name,
    description: verb.description,
    hazard: verb.hazard,
    timeout_seconds: verb.timeoutSeconds,
    urgent: verb.isUrgent === true,
    params: verb.params,
    findRefusal: () => findRefusal(verb, hosted),
    hazardOf: params => verb.hazardOf?.(params) ?? verb.hazard,
    plan: params => {
      const gate = verb.gateOf?.(params) ?? verb.gate
      const { operations, motion, bounds } = verb.plan(params, target)
      return {
        operations,
        bounds: { ...bounds, ...(motion && { motion: motion as unknown as Json }), envelope: hash },
        ...(gate !== undefined && { gate }),
      }
    },
    run: async ({ operations, bounds }, { signal, report }) => {
      const { deviceId } = device
      // an overtaken verb first brings the device to rest; only urgent ones do not wait for that
      if (!verb.isUrgent) await runs.waitUntilIdle(deviceId)
      signal.throwIfAborted()
      return runs.track(deviceId, name, () =>
        link.execute(deviceId, operations, { signal, report, bounds }),
      )
    },
  }
}

const listLimits = ({ limits }: HostedDevice, { envelope }: DeviceVerb): SourcedEnvelope[] =>
  envelope === undefined ? [...limits] : [...limits, { source: 'verb', envelope }]

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
