import type { DeviceState, EstopBehaviour } from '../shared/wire/device.ts'
import type { Seen, SeenState } from '../shared/wire/device-outcome.ts'
import { checkInterlock } from './envelope/check-readings.ts'
import { createProjection } from './envelope/plane.ts'
import { type DeviceSnapshot, readFresh, readPosition } from './envelope/snapshot.ts'
import type { DeviceProfile, Interlock, Json, Position } from './profile.ts'

interface RestObserverParts {
  deviceId: string
  profile: Pick<DeviceProfile, 'properties' | 'rest' | 'landed'>
  /** Behaviour that was commanded: a landing is at rest on the ground only. */
  behaviour: EstopBehaviour
  readState: () => DeviceState | undefined
  /** Unix milliseconds. */
  now: () => number
}

/** Readings that an observation repeats, where the device has them. */
const REPORTED = [
  ...['mode', 'is_armed', 'is_flying', 'speed_m_s', 'climb_m_s', 'x_m', 'y_m', 'lat', 'lon'],
  ...['altitude_m', 'state', 'printer_state', 'on', 'is_on', 'moving', 'cover_state', 'locked'],
  'position_percent',
]

/** True for a device whose readings show whether it rests. */
export const isRestObservable = ({ rest }: Pick<DeviceProfile, 'rest'>): boolean =>
  rest !== undefined

/** Observes whether a device comes to rest after an order; only readings since then count. */
export class RestObserver {
  readonly #parts: RestObserverParts
  #since: number
  #from: Position | undefined

  /** `since`: time of the order in unix milliseconds; now when absent. */
  constructor(parts: RestObserverParts, since = parts.now()) {
    this.#parts = parts
    this.#since = since
    this.#from = this.#readPosition()
  }

  /** Begins again: only readings from now on count, and the distance is that from here. */
  restart(): void {
    this.#since = this.#parts.now()
    this.#from = this.#readPosition()
  }

  /** Returns what the newest readings say. */
  look(): Seen {
    const { readings = {} } = this.#parts.readState() ?? {}
    const values = this.#listValues()
    const times = Object.keys(values).map(name => readings[name]?.at ?? 0)
    const at = times.length === 0 ? null : Math.max(...times)
    const travelled_m = this.#measureTravel()
    return {
      state: this.#findState(),
      at,
      values: { ...values, ...(travelled_m !== undefined && { travelled_m }) },
    }
  }

  #findState(): SeenState {
    const { profile, behaviour } = this.#parts
    const alternatives = (behaviour === 'land' ? profile.landed : undefined) ?? profile.rest ?? []
    const verdicts = alternatives.map(conditions => this.#judge(conditions))
    if (verdicts.includes('at_rest')) return 'at_rest'
    return verdicts.length > 0 && verdicts.every(one => one === 'moving') ? 'moving' : 'unknown'
  }

  #judge(conditions: readonly Omit<Interlock, 'name'>[]): SeenState {
    const verdicts = conditions.map(condition =>
      this.#isSince(condition.property)
        ? checkInterlock({ name: 'rest', ...condition }, this.#snapshot, this.#parts.now()).verdict
        : 'unknown',
    )
    if (verdicts.includes('fails')) return 'moving'
    return verdicts.every(verdict => verdict === 'holds') ? 'at_rest' : 'unknown'
  }

  get #snapshot(): DeviceSnapshot {
    const { deviceId, profile, readState } = this.#parts
    return { deviceId, properties: profile.properties, state: readState() }
  }

  #isSince(property: string): boolean {
    return (this.#snapshot.state?.readings[property]?.at ?? 0) >= this.#since
  }

  #listValues(): Record<string, Json> {
    return Object.fromEntries(
      REPORTED.filter(name => this.#isSince(name)).flatMap(name => {
        const value = readFresh(this.#snapshot, name, this.#parts.now())
        return value === undefined ? [] : [[name, value]]
      }),
    )
  }

  #readPosition(): Position | undefined {
    const now = this.#parts.now()
    return readPosition(this.#snapshot, 'wgs84', now) ?? readPosition(this.#snapshot, 'local', now)
  }

  /** Straight distance from the place of the order, in metres, to the centimetre. */
  #measureTravel(): number | undefined {
    const [from, to] = [this.#from, this.#readPosition()]
    if (from === undefined || to === undefined || from.frame !== to.frame) return undefined
    const [x, y] = createProjection(from.frame, [from.x, from.y])([to.x, to.y])
    const [x0, y0] = from.frame === 'local' ? [from.x, from.y] : [0, 0]
    const distance_m = Math.hypot(x - x0, y - y0, to.altitude_m - from.altitude_m)
    return Math.round(distance_m * 100) / 100
  }
}
