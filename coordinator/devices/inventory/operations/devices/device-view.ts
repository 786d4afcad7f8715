import * as z from 'zod'
import { iso, isoOrNull } from '../../../../../shared/time.ts'
import {
  DeviceFacts,
  DeviceKind,
  LinkKind,
  PropertyName,
} from '../../../../../shared/wire/device.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import type { EstopViews } from '../../../estop/open.ts'
import type { Device } from '../../device.table.ts'
import { kindOf, reasonOf, seatOf } from '../../device.ts'
import type { DeviceViews } from '../../open.ts'
import {
  AllowedCommand,
  allowedCommandOf,
  CommandDetails,
  commandDetailsOf,
} from './command-rows.ts'
import { listReadings, ReadingView } from './reading-rows.ts'

/** Labels of a device that operators have set. */
export const DeviceLabels = z.record(
  z.string().regex(/^[a-z0-9]([a-z0-9._/-]{0,61}[a-z0-9])?$/),
  z.string().max(256),
)

const Identity = z.object({
  name: z.string(),
  device_id: z.string(),
  kind: DeviceKind,
  site: z.string().nullable(),
  available: z.boolean(),
  /** Reason why it is not available or not writable; null otherwise. */
  reason: z.string().nullable(),
  estop_id: z.string().nullable().describe('The e-stop that holds it; null without one.'),
  unconfirmed_stop: z
    .object({ since: z.iso.datetime(), reason: z.string() })
    .nullable()
    .describe(
      'A stop after which it was not seen at rest, and which is repeated; null without one.',
    ),
})

const Origin = z.object({
  writable: z.boolean(),
  profile: z.string(),
  cell_id: z.string(),
  /** Other cells that announce the device. */
  also_on: z.array(z.string()),
  labels: DeviceLabels,
  /** Time of the newest sign of life; null before the first. */
  seen_at: z.iso.datetime().nullable(),
})

/** A device as lists show it. Its readings and commands need the profile that its cell announces. */
export const DeviceSummary = Identity.extend({
  /** Newest values of its properties; null is an unknown value. */
  readings: z.record(PropertyName, ReadingView.shape.value),
  /** Properties whose reading is older than it may be. */
  stale: z.array(PropertyName),
  /** Commands that it accepts. */
  commands: z.array(z.string()),
  ...Origin.shape,
})

/** A device with the age of each reading, and the hazards of its commands. */
export const DeviceStatus = Identity.extend({
  ...Origin.shape,
  readings: z.array(ReadingView),
  commands: z.array(AllowedCommand),
})

/** Everything that is known of one device now. */
export const DeviceDetails = Identity.extend({
  ...Origin.shape,
  link: LinkKind.nullable(),
  first_seen_at: z.iso.datetime(),
  changed_at: z.iso.datetime(),
  envelope: DeviceFacts.shape.envelope.describe('Limits in force, merged to the most restrictive.'),
  readings: z.array(ReadingView),
  commands: z.array(CommandDetails),
})

type Parts = Pick<Context, 'now'> & Pick<DeviceViews, 'devices'> & EstopViews

export const deviceSummaryOf = (device: Device, parts: Parts): z.input<typeof DeviceSummary> => {
  const readings = listReadings(device, parts)
  return {
    ...identityOf(device, parts),
    readings: Object.fromEntries(readings.map(({ property, value }) => [property, value])),
    stale: readings.filter(({ stale }) => stale).map(({ property }) => property),
    commands: listAllowed(device, parts).map(({ verb }) => verb),
    ...originOf(device, parts),
  }
}

export const deviceStatusOf = (device: Device, parts: Parts): z.input<typeof DeviceStatus> => ({
  ...identityOf(device, parts),
  ...originOf(device, parts),
  readings: listReadings(device, parts),
  commands: listAllowed(device, parts).map(allowedCommandOf),
})

export const deviceDetailsOf = (device: Device, parts: Parts): z.input<typeof DeviceDetails> => ({
  ...identityOf(device, parts),
  ...originOf(device, parts),
  link: parts.devices.profile(device)?.link ?? null,
  first_seen_at: iso(device.firstSeen),
  changed_at: iso(device.changedAt),
  envelope: device.facts.envelope,
  readings: listReadings(device, parts),
  commands: listAllowed(device, parts).map(commandDetailsOf),
})

const identityOf = (device: Device, { estops }: Parts): z.input<typeof Identity> => ({
  name: device.facts.name,
  device_id: device.id,
  kind: kindOf(device),
  site: device.facts.site,
  available: device.isAvailable,
  reason: reasonOf(device),
  estop_id: estops.findCovering(seatOf(device))?.id ?? null,
  unconfirmed_stop: unconfirmedStopOf(device),
})

const unconfirmedStopOf = ({ facts: { unconfirmed_stop: stop } }: Device) =>
  stop === undefined ? null : { since: iso(stop.since), reason: stop.reason }

const originOf = (device: Device, { devices }: Parts): z.input<typeof Origin> => ({
  writable: device.facts.writable,
  profile: device.facts.profile,
  cell_id: device.cellId,
  also_on: device.alsoOn,
  labels: device.labels,
  seen_at: isoOrNull(devices.state(device)?.seenAt),
})

/** A device that accepts no commands can still be read. */
const listAllowed = (device: Device, { devices }: Parts) =>
  (devices.profile(device)?.verbs ?? []).filter(
    ({ hazard }) => device.facts.writable || hazard === 'read',
  )
