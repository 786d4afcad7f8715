import * as z from 'zod'
import { mergeEnvelopes, toSafetyEnvelope } from '../../devices/envelope/merge-envelopes.ts'
import type { DeviceProfile, DeviceVerb } from '../../devices/profile.ts'
import type { DeviceFacts, DeviceProfileFacts, DeviceVerbFacts } from '../../shared/wire/device.ts'
import type { HostedDevice } from './hosted-device.ts'

/** Describes a device for the birth. */
export const toDeviceFacts = ({
  device,
  site,
  limits,
  unconfirmedStop: stop,
}: HostedDevice): DeviceFacts => ({
  device_id: device.deviceId,
  name: device.name,
  profile: device.profile.id,
  site: site ?? null,
  available: device.available,
  reason: device.reason?.slice(0, 300).toWellFormed() ?? null,
  writable: device.writable,
  envelope: toSafetyEnvelope(mergeEnvelopes(limits)),
  ...(stop && {
    unconfirmed_stop: { since: stop.since, reason: stop.reason.slice(0, 300).toWellFormed() },
  }),
})

/** Facts of the profiles that were described before; their schemas take time. */
const described = new WeakMap<DeviceProfile, DeviceProfileFacts>()

/** Describes a profile for the birth, with the parameters of its verbs as JSON Schema. */
export const toProfileFacts = (profile: DeviceProfile): DeviceProfileFacts => {
  const facts = described.get(profile) ?? describeProfile(profile)
  described.set(profile, facts)
  return facts
}

const describeProfile = (profile: DeviceProfile): DeviceProfileFacts => ({
  profile: profile.id,
  title: profile.title,
  kind: profile.kind,
  link: profile.link,
  properties: { ...profile.properties },
  verbs: Object.entries(profile.verbs).map(([name, verb]) => toVerbFacts(name, verb)),
})

const toVerbFacts = (name: string, verb: DeviceVerb): DeviceVerbFacts => ({
  verb: name,
  description: verb.description,
  hazard: verb.hazard,
  ...(verb.hazardRule !== undefined && { hazard_rule: verb.hazardRule }),
  timeout_seconds: verb.timeoutSeconds,
  ...(verb.isUrgent && { urgent: true }),
  params: toParamsSchema(verb.params),
  idempotent: verb.isIdempotent,
  ...(verb.gate !== undefined && { gate: verb.gate }),
  at_estop: verb.atEstop,
})

const toParamsSchema = (params: z.ZodObject): DeviceVerbFacts['params'] => {
  const { $schema, ...schema } = z.toJSONSchema(params, { io: 'input', unrepresentable: 'any' })
  return schema as DeviceVerbFacts['params']
}
