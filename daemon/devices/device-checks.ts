import { checkEnvelope, type EnvelopeCheck } from '../../devices/envelope/check-envelope.ts'
import {
  dropPlaceLimits,
  type MergedEnvelope,
  mergeEnvelopes,
  type SourcedEnvelope,
} from '../../devices/envelope/merge-envelopes.ts'
import type { DeviceSnapshot } from '../../devices/envelope/snapshot.ts'
import type { DeviceVerb, PlannedMotion } from '../../devices/profile.ts'
import { CRITICAL_GATE, type PlanPart, type Precondition } from '../../shared/wire/plan-part.ts'
import type { HostedDevice } from './hosted-device.ts'

/** Limits of a device for one of its verbs. */
export const mergeLimits = (
  { limits }: HostedDevice,
  { envelope, isExemptFromPlace }: DeviceVerb,
): MergedEnvelope => {
  const own: SourcedEnvelope[] = envelope === undefined ? [] : [{ source: 'verb', envelope }]
  const merged = mergeEnvelopes([...limits, ...own])
  return isExemptFromPlace ? dropPlaceLimits(merged) : merged
}

/** Newest readings of a device. */
export const takeSnapshot = ({ device, link }: HostedDevice): DeviceSnapshot => ({
  deviceId: device.deviceId,
  properties: device.profile.properties,
  state: link.readState(device.deviceId),
})

/** Facts that the checks of a device need beside its verb and its plan. */
export interface CheckContext {
  listPeers(hosted: HostedDevice): HostedDevice[]
  countRecent(deviceId: string): number
  /** False while the limits of the coordinator are unknown. */
  areLimitsReadable(): boolean
  /** Unix milliseconds. */
  now: () => number
}

/** Gathers what the checks look at, with the newest readings. */
export const gatherCheck = (
  { hazard, gate, bounds }: PlanPart,
  hosted: HostedDevice,
  verb: DeviceVerb,
  { listPeers, countRecent, now }: CheckContext,
): EnvelopeCheck => ({
  hazard,
  envelope: mergeLimits(hosted, verb),
  motion: bounds.motion as PlannedMotion | undefined,
  interlocks: verb.interlocks,
  self: takeSnapshot(hosted),
  peers: listPeers(hosted).map(takeSnapshot),
  now: now(),
  recentCommands: countRecent(hosted.device.deviceId),
  isGeofenceOverridden: bounds.override_geofence === true && gate === CRITICAL_GATE,
})

const UNREADABLE =
  'the limits of the coordinator cannot be read on this cell: connect it to the coordinator, which ' +
  'sends them again; if it is connected, update shoald'

/**
 * Checks a verb just before it begins. Without the limits of the coordinator only what is urgent or
 * reads may run, as nobody knows what they forbid.
 */
export const checkStart = (
  part: PlanPart,
  hosted: HostedDevice,
  verb: DeviceVerb,
  context: CheckContext,
): Precondition[] => {
  const checks = checkEnvelope(gatherCheck(part, hosted, verb, context))
  if (context.areLimitsReadable() || verb.isUrgent || part.hazard === 'read') return checks
  const name = 'coordinator_limits'
  return [{ name, observed: UNREADABLE, limit: null, holds: false, source: 'fleet' }, ...checks]
}
