import type { DeviceState } from '../../../shared/wire/device.ts'
import { MavlinkStatusAnswer } from '../../../shared/wire/mavlink-status.ts'

/** Fields of the status that are readings of the same name. */
const READINGS = Object.keys(MavlinkStatusAnswer.shape).filter(
  name => !['available', 'reason', 'source', 'system_id', 'observed_at'].includes(name),
)

interface StatusFacts extends Pick<MavlinkStatusAnswer, 'available' | 'source' | 'system_id'> {
  readings: DeviceState['readings']
  /** Unix milliseconds. */
  now: number
}

/** Status of a vehicle from its readings. */
export const createStatus = ({ readings, now, ...facts }: StatusFacts): MavlinkStatusAnswer => {
  const values = Object.fromEntries(READINGS.map(name => [name, readings[name]?.value ?? null]))
  // these come with each heartbeat
  const { is_armed: armed } = readings
  return MavlinkStatusAnswer.parse({
    ...values,
    ...facts,
    reason: null,
    armed: armed?.value ?? null,
    heartbeat_age_ms: armed === undefined ? null : Math.max(0, now - armed.at),
    observed_at: new Date(now).toISOString(),
  })
}

/** Status without a vehicle. */
export const createSilence = (reason: string): MavlinkStatusAnswer =>
  MavlinkStatusAnswer.parse({
    ...Object.fromEntries(Object.keys(MavlinkStatusAnswer.shape).map(name => [name, null])),
    available: false,
    reason: reason.slice(0, 500),
  })
