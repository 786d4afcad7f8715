import * as z from 'zod'
import { iso, isoOrNull } from '../../../shared/time.ts'
import { Hazard } from '../../../shared/wire/command.ts'
import {
  DeviceKind,
  type DeviceVerbFacts,
  DeviceVerbFacts as DeviceVerbFactsSchema,
  LinkKind,
  PropertyFacts,
  PropertyName,
  PropertyValue,
} from '../../../shared/wire/device.ts'
import { LIVE_GATE } from '../../../shared/wire/plan-part.ts'
import { SafetyEnvelope } from '../../../shared/wire/safety-envelope.ts'
import { type Device, reasonOf } from '../../devices/device.ts'
import type { DeviceReadings } from '../../devices/device-states.ts'
import type { Context } from '../context.ts'

/** Labels of a device that operators have set. */
export const DeviceLabels = z.record(
  z.string().regex(/^[a-z0-9]([a-z0-9._/-]{0,61}[a-z0-9])?$/),
  z.string().max(256),
)

const ReadingView = z.object({
  value: PropertyValue,
  unit: z.string().nullable(),
  at: z.iso.datetime(),
  age_ms: z.int().nonnegative(),
  /** True when the reading is older than its property allows. */
  stale: z.boolean(),
})

/** Newest readings of a device. */
export const DeviceStateView = z.object({
  /** Time of the newest sign of life; null before the first. */
  seen_at: z.iso.datetime().nullable(),
  readings: z.record(PropertyName, ReadingView),
})

/** A command that a device accepts. */
const AllowedCommand = z.object({
  command: z.string(),
  hazard: Hazard.describe('Highest hazard over all parameters.'),
  gate: z.string().nullable().describe('Gate of its unsafe uses; null without one.'),
  urgent: z.boolean().describe('True for stop, hold and land, which skip every queue and gate.'),
})

export const DeviceSummary = z.object({
  device_id: z.string(),
  name: z.string(),
  kind: DeviceKind,
  profile: z.string(),
  site: z.string().nullable(),
  cell_id: z.string(),
  /** Other cells that announce the device. */
  also_on: z.array(z.string()),
  available: z.boolean(),
  /** Reason why it is not available or not writable; null otherwise. */
  reason: z.string().nullable(),
  writable: z.boolean(),
  labels: DeviceLabels,
  state: DeviceStateView,
  /** Empty until its cell has announced its profile to this coordinator. */
  commands: z.array(AllowedCommand),
})

export const DeviceDetails = DeviceSummary.extend({
  /** Null until its cell has announced its profile to this coordinator. */
  link: LinkKind.nullable(),
  first_seen_at: z.iso.datetime(),
  changed_at: z.iso.datetime(),
  envelope: SafetyEnvelope.describe('Limits in force, merged to the most restrictive.'),
  properties: z.record(PropertyName, PropertyFacts),
  verbs: z.array(DeviceVerbFactsSchema),
})

type Parts = Pick<Context, 'devices' | 'now'>

export const deviceSummaryOf = (
  device: Device,
  { devices, now }: Parts,
): z.input<typeof DeviceSummary> => {
  const { id, cellId, alsoOn, kind, facts, isAvailable, labels } = device
  return {
    device_id: id,
    name: facts.name,
    kind,
    profile: facts.profile,
    site: facts.site,
    cell_id: cellId,
    also_on: alsoOn,
    available: isAvailable,
    reason: reasonOf(device),
    writable: facts.writable,
    labels,
    state: stateViewOf(device, { devices, now }),
    commands: listAllowed(device, devices.profile(device)?.verbs ?? []),
  }
}

export const deviceDetailsOf = (device: Device, parts: Parts): z.input<typeof DeviceDetails> => {
  const profile = parts.devices.profile(device)
  return {
    ...deviceSummaryOf(device, parts),
    link: profile?.link ?? null,
    first_seen_at: iso(device.firstSeenAt),
    changed_at: iso(device.changedAt),
    envelope: device.facts.envelope,
    properties: profile?.properties ?? {},
    verbs: profile?.verbs ?? [],
  }
}

/** A device that accepts no commands can still be read. */
const listAllowed = ({ facts }: Device, verbs: readonly DeviceVerbFacts[]) =>
  verbs
    .filter(({ hazard }) => facts.writable || hazard === 'read')
    .map(({ verb, hazard, gate = LIVE_GATE, urgent = false }) => ({
      command: verb,
      hazard,
      gate: hazard === 'unsafe' ? gate : null,
      urgent,
    }))

const NO_READINGS: DeviceReadings = { seenAt: undefined, readings: new Map() }

const stateViewOf = (device: Device, { devices, now }: Parts): z.input<typeof DeviceStateView> => {
  const { seenAt, readings } = devices.state(device) ?? NO_READINGS
  const units = devices.profile(device)?.properties ?? {}
  return {
    seen_at: isoOrNull(seenAt),
    readings: Object.fromEntries(
      [...readings].map(([name, { value, at, isStale }]) => [
        name,
        {
          value,
          unit: units[name]?.unit ?? null,
          at: iso(at),
          age_ms: Math.max(0, Math.round(now() - at)),
          stale: isStale,
        },
      ]),
    ),
  }
}
