/** State of a vehicle as its simulator has it. Times are unix milliseconds of this process. */
export interface Truth {
  at: number
  lat: number
  lon: number
  /** Altitude above the place where the simulation began. */
  altitude_m: number
  /** Horizontal speed, and that upwards. */
  speed_m_s: number
  climb_m_s: number
}

/** State of the autopilot, from its heartbeat. */
export interface AutopilotState {
  at: number
  mode: number
  isArmed: boolean
  systemStatus: number
}

/** Source of the truth about a vehicle, beside the link that is tested. */
export interface TruthSource {
  /** Newest first is the last element. */
  readonly track: readonly Truth[]
  readonly states: readonly AutopilotState[]
}

const EARTH_M = 6_371_009
const RADIANS = Math.PI / 180

/** Horizontal distance of two places in metres; good to 0.5 % over some kilometres. */
export const measureAcross = (
  one: Pick<Truth, 'lat' | 'lon'>,
  other: Pick<Truth, 'lat' | 'lon'>,
): number => {
  const north = (other.lat - one.lat) * RADIANS * EARTH_M
  const east = (other.lon - one.lon) * RADIANS * EARTH_M * Math.cos(one.lat * RADIANS)
  return Math.hypot(north, east)
}

/** Truth at and around a moment: everything within the tolerance of time. */
export const listAround = <T extends { at: number }>(
  all: readonly T[],
  at: number,
  tolerance_ms: number,
): T[] => all.filter(one => Math.abs(one.at - at) <= tolerance_ms)
