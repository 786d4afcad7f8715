import { type MassState, type MassTarget, moveMass } from './point-mass.ts'

/*
 * Behaviour of PX4 for commands and modes, from the sources of PX4 (commit 34160bb6c9, 2021):
 * `commander/Commander.cpp` (`handle_command`, the loop), `commander/state_machine_helper.cpp`
 * (`main_state_transition`), `navigator/navigator_main.cpp`, `loiter.cpp`, `takeoff.cpp`, `rtl.cpp`, and
 * the defaults of their parameters.
 */

/** `MAV_RESULT`. */
export const RESULT = { accepted: 0, temporarilyRejected: 1, denied: 2, unsupported: 3, failed: 4 }

/** Main and sub mode of `px4_custom_mode.h`, by name. */
const MODES = {
  manual: [1, 0],
  altctl: [2, 0],
  posctl: [3, 0],
  auto_takeoff: [4, 2],
  auto_loiter: [4, 3],
  auto_mission: [4, 4],
  auto_rtl: [4, 5],
  auto_land: [4, 6],
  auto_follow_target: [4, 8],
  auto_precland: [4, 9],
  acro: [5, 0],
  offboard: [6, 0],
  stabilized: [7, 0],
} as const satisfies Record<string, readonly [main: number, sub: number]>
type Px4Mode = keyof typeof MODES

export const customModeOf = (mode: Px4Mode): number => {
  const [main, sub] = MODES[mode]
  return main * 2 ** 16 + sub * 2 ** 24
}

export const namePx4Mode = (customMode: number): string =>
  Object.keys(MODES).find(mode => customModeOf(mode as Px4Mode) === customMode) ??
  `mode_${customMode}`

const AUTO = 4
const CUSTOM_MODE_ENABLED = 1

/** A command as `vehicle_command` has it; altitudes are above the sea. */
interface Px4Command {
  command: number
  params: readonly [number, number, number, number, number, number, number]
}

/** Parameters of PX4 with their defaults. */
const PX4_PARAMETERS = {
  MIS_TAKEOFF_ALT: 2.5,
  NAV_MC_ALT_RAD: 0.8,
  MPC_XY_CRUISE: 5,
  MPC_Z_VEL_MAX_UP: 3,
  MPC_Z_VEL_MAX_DN: 1,
  MPC_LAND_SPEED: 0.7,
  MPC_TKO_SPEED: 1.5,
  RTL_RETURN_ALT: 60,
  RTL_DESCEND_ALT: 30,
  RTL_MIN_DIST: 10,
  COM_DISARM_LAND: 2,
  COM_DISARM_PRFLT: 10,
  COM_DL_LOSS_T: 10,
  /** Action without a ground station: 0 none, 1 hold, 2 return, 3 land. */
  NAV_DLL_ACT: 0,
  /** Action with a critical battery: 0 none, 2 land, 3 return and land. */
  COM_LOW_BAT_ACT: 0,
  BAT_CRIT_THR: 7,
}
export type Px4Parameters = typeof PX4_PARAMETERS

export interface Px4Home {
  lat: number
  lon: number
  /** Altitude above the sea. */
  altitude_m: number
}

interface Point {
  north: number
  east: number
  up: number
}

interface Setpoint extends Point {
  speed_m_s: number
}

const METRES_PER_DEGREE = 111_195
const FORCED = 21_196
/** Time in which the land detector makes up its mind. */
const LAND_DETECTED_S = 1
/** Time after which a position without satellites is not valid: `COM_POS_FS_DELAY`. */
const POSITION_LOST_S = 1

/** Commander and navigator of a multirotor, and the mass that they fly. */
export class Px4Commander {
  readonly parameters: Px4Parameters
  readonly home: Px4Home
  /** Newest texts for people. */
  readonly texts: { severity: number; text: string }[] = []
  mode: Px4Mode = 'manual'
  isArmed = false
  isLanded = true
  /** False when a check before arming fails. */
  isHealthy = true
  hasGps = true
  battery_percent = 90
  mass: MassState = { north: 0, east: 0, up: 0, vNorth: 0, vEast: 0, vUp: 0 }
  #seconds = 0
  #armedAt = 0
  #landedSince: number | undefined = 0
  #hasTakenOff = false
  #gpsLostAt: number | undefined
  #stationAt = 0
  #target: Setpoint | undefined
  /** Triplets of the navigator that wait for their mode. */
  #takeoff: { point: Point } | undefined
  #reposition: Setpoint | undefined
  #rtl: 'climb' | 'return' | 'descend' | 'land' | undefined

  constructor(home: Px4Home, parameters: Partial<Px4Parameters> = {}) {
    this.home = home
    this.parameters = { ...PX4_PARAMETERS, ...parameters }
  }

  get isPositionValid(): boolean {
    return this.#gpsLostAt === undefined || this.#seconds - this.#gpsLostAt < POSITION_LOST_S
  }

  /** Notes a heartbeat of a ground station. */
  hearStation(): void {
    this.#stationAt = this.#seconds
  }

  place({ north, east }: Pick<Point, 'north' | 'east'> = this.mass) {
    const { lat, lon } = this.home
    return {
      lat: lat + north / METRES_PER_DEGREE,
      lon: lon + east / (METRES_PER_DEGREE * Math.cos((lat * Math.PI) / 180)),
    }
  }

  /** Carries out a command; what PX4 does not know is unsupported. */
  handle({ command, params }: Px4Command): number {
    const [p1, p2, p3] = params
    switch (command) {
      case 192:
        return this.#handleReposition(params)
      case 176:
        return this.#handleMode(p1, p2, p3)
      case 400:
        return this.#handleArming(p1, p2)
      case 20:
        return this.#handleReturn()
      case 22:
        return this.#handleTakeoff(params)
      case 21:
        if (!this.#change('auto_land')) return this.#reject('Landing denied! Please land manually')
        this.#say(6, 'Landing at current position')
        return RESULT.accepted
      // a cruising speed is that of planned missions: nothing else takes it
      case 178:
        return RESULT.accepted
      default:
        return RESULT.unsupported
    }
  }

  /** Passes time. */
  step(seconds: number): void {
    this.#seconds += seconds
    if (this.hasGps) this.#gpsLostAt = undefined
    else this.#gpsLostAt ??= this.#seconds
    this.#watchFailsafes()
    const target = this.isArmed ? this.#navigate() : undefined
    if (target !== undefined) this.mass = moveMass(this.mass, target, seconds)
    this.#detectLanding(target)
    this.#disarmByItself()
  }

  #handleMode(base: number, main: number, sub: number): number {
    // the modes of the base are MAVLink's own, and no station of today sends them
    if ((base & CUSTOM_MODE_ENABLED) === 0) return RESULT.accepted
    if (main === AUTO && sub === 0) return this.#accept('auto_mission')
    const known = Object.entries(MODES).find(
      ([, [m, s]]) => m === main && (m !== AUTO || s === sub),
    )
    if (known !== undefined) return this.#accept(known[0] as Px4Mode)
    if (main !== AUTO) return RESULT.accepted
    this.#say(2, 'Unsupported auto mode')
    return RESULT.temporarilyRejected
  }

  #accept(mode: Px4Mode): number {
    return this.#change(mode) ? RESULT.accepted : RESULT.temporarilyRejected
  }

  #handleArming(arms: number, magic: number): number {
    const action = Math.round(arms)
    if (action !== 0 && action !== 1) return RESULT.unsupported
    if (!this.isLanded && Math.round(magic) !== FORCED) {
      this.#say(2, `${action === 1 ? 'Arming' : 'Disarming'} denied! Not landed`)
      return RESULT.denied
    }
    if (action === 0) {
      this.isArmed = false
      return RESULT.accepted
    }
    if (this.isArmed) return RESULT.accepted
    if (!this.isHealthy) return this.#reject('Preflight Fail: system health')
    this.isArmed = true
    this.#armedAt = this.#seconds
    this.#hasTakenOff = false
    this.#say(6, 'Armed by external command')
    return RESULT.accepted
  }

  #handleReturn(): number {
    // only a change of the mode is accepted: a second return is denied
    if (this.mode === 'auto_rtl' || !this.#change('auto_rtl'))
      return this.#reject('Return to launch denied')
    this.#say(6, 'Returning to launch')
    return RESULT.accepted
  }

  #handleTakeoff([, , , , lat, lon, altitude]: Px4Command['params']): number {
    const here = this.mass
    const point = Number.isFinite(lat) && Number.isFinite(lon) ? this.#locate(lat, lon) : here
    this.#takeoff = { point: { ...point, up: altitude - this.home.altitude_m } }
    if (this.mode === 'auto_takeoff' || this.#change('auto_takeoff')) return RESULT.accepted
    return this.#reject('Takeoff denied! Please disarm and retry')
  }

  #handleReposition([speed, flags, , , lat, lon, altitude]: Px4Command['params']): number {
    const { mass, home } = this
    const hasPlace = Number.isFinite(lat) && Number.isFinite(lon)
    const up = Number.isFinite(altitude) ? altitude - home.altitude_m : mass.up
    const speed_m_s = speed > 0 ? speed : this.parameters.MPC_XY_CRUISE
    const place = hasPlace ? this.#locate(lat, lon) : this.#brakePoint()
    this.#reposition = { ...place, up, speed_m_s }
    if ((flags & 1) === 0) return RESULT.accepted
    if (this.#change('auto_loiter')) return RESULT.accepted
    return this.#reject('Reposition command rejected')
  }

  /** Point at which a braking vehicle rests. */
  #brakePoint() {
    const { north, east, vNorth, vEast } = this.mass
    const seconds = Math.hypot(vNorth, vEast) / 6
    return { north: north + vNorth * seconds, east: east + vEast * seconds }
  }

  #locate(lat: number, lon: number) {
    const { lat: homeLat, lon: homeLon } = this.home
    return {
      north: (lat - homeLat) * METRES_PER_DEGREE,
      east: (lon - homeLon) * METRES_PER_DEGREE * Math.cos((homeLat * Math.PI) / 180),
    }
  }

  /** `main_state_transition`: false where it is denied. */
  #change(mode: Px4Mode): boolean {
    const needsPosition = ['auto_loiter', 'auto_rtl', 'auto_takeoff', 'posctl', 'auto_precland']
    if (needsPosition.includes(mode) && !this.isPositionValid) return false
    // there is no mission, and nobody sends the setpoints of offboard control
    if (mode === 'auto_mission' || mode === 'offboard') return false
    if (mode === this.mode) return true
    this.mode = mode
    this.#target = undefined
    this.#rtl = undefined
    return true
  }

  #navigate(): MassTarget | undefined {
    switch (this.mode) {
      case 'auto_takeoff':
        return this.#flyTakeoff()
      case 'auto_loiter':
        return this.#flyLoiter()
      case 'auto_rtl':
        return this.#flyReturn()
      case 'auto_land':
      case 'auto_precland':
        return this.#flyLanding()
      default:
        // sticks at their centre: a vehicle on the ground stays, one in the air holds
        return this.isLanded ? undefined : this.#hold()
    }
  }

  #flyTakeoff(): MassTarget {
    const { MIS_TAKEOFF_ALT, NAV_MC_ALT_RAD, MPC_TKO_SPEED } = this.parameters
    if (this.#takeoff !== undefined || this.#target === undefined) {
      const least = this.mass.up + MIS_TAKEOFF_ALT
      const point = this.#takeoff?.point ?? { ...this.mass, up: Number.NaN }
      this.#takeoff = undefined
      if (!(point.up >= least - 0.1))
        this.#say(2, `Using minimum takeoff altitude: ${MIS_TAKEOFF_ALT} m`)
      const up = point.up >= least ? point.up : least
      this.#target = { ...point, up, speed_m_s: this.parameters.MPC_XY_CRUISE }
    }
    const target = this.#target
    const isThere = Math.abs(target.up - this.mass.up) < NAV_MC_ALT_RAD
    if (isThere && !this.isLanded) {
      // the loiter that follows keeps the altitude of the take-off
      this.mode = 'auto_loiter'
    }
    return this.#towards(target, MPC_TKO_SPEED)
  }

  #flyLoiter(): MassTarget {
    if (this.#reposition !== undefined) this.#target = this.#reposition
    this.#reposition = undefined
    return this.#hold()
  }

  #hold(): MassTarget {
    this.#target ??= { ...this.mass, speed_m_s: this.parameters.MPC_XY_CRUISE }
    return this.#towards(this.#target)
  }

  #flyReturn(): MassTarget {
    const { RTL_RETURN_ALT, RTL_DESCEND_ALT, RTL_MIN_DIST, MPC_XY_CRUISE } = this.parameters
    const { mass } = this
    const far = Math.hypot(mass.north, mass.east)
    this.#rtl ??= far < RTL_MIN_DIST ? 'land' : 'climb'
    this.#target ??= { ...mass, speed_m_s: MPC_XY_CRUISE }
    const cruise = { speed_m_s: MPC_XY_CRUISE }
    if (this.#rtl === 'climb') {
      const up = Math.max(this.#target.up, RTL_RETURN_ALT)
      if (up - mass.up < 0.5) this.#rtl = 'return'
      return this.#towards({ ...this.#target, ...cruise, up })
    }
    if (this.#rtl === 'return') {
      if (far < 1) this.#rtl = 'descend'
      return this.#towards({ north: 0, east: 0, up: Math.max(mass.up, 0.1), ...cruise })
    }
    if (this.#rtl === 'descend') {
      const up = Math.min(RTL_DESCEND_ALT, mass.up)
      if (mass.up - RTL_DESCEND_ALT < 0.5) this.#rtl = 'land'
      return this.#towards({ north: 0, east: 0, up, ...cruise })
    }
    return this.#towards({ north: 0, east: 0, up: -1, ...cruise }, undefined, true)
  }

  #flyLanding(): MassTarget {
    this.#target ??= {
      ...this.mass,
      ...this.#brakePoint(),
      speed_m_s: this.parameters.MPC_XY_CRUISE,
    }
    return this.#towards({ ...this.#target, up: -1 }, undefined, true)
  }

  #towards(target: Setpoint, up_m_s?: number, isLanding = false): MassTarget {
    const { MPC_Z_VEL_MAX_UP, MPC_Z_VEL_MAX_DN, MPC_LAND_SPEED } = this.parameters
    const down_m_s = isLanding && this.mass.up < 10 ? MPC_LAND_SPEED : MPC_Z_VEL_MAX_DN
    return { ...target, up_m_s: up_m_s ?? MPC_Z_VEL_MAX_UP, down_m_s }
  }

  #detectLanding(target: MassTarget | undefined): void {
    const isDown = this.mass.up <= 0 && (target === undefined || target.up <= 0)
    if (!isDown) {
      this.#landedSince = undefined
      if (this.mass.up > 0.2) {
        this.isLanded = false
        this.#hasTakenOff = true
      }
      return
    }
    this.#landedSince ??= this.#seconds
    if (this.#seconds - this.#landedSince >= LAND_DETECTED_S) this.isLanded = true
  }

  #disarmByItself(): void {
    if (!this.isArmed || !this.isLanded) return
    const { COM_DISARM_LAND, COM_DISARM_PRFLT } = this.parameters
    const since = this.#hasTakenOff
      ? (this.#landedSince ?? this.#seconds) + LAND_DETECTED_S
      : this.#armedAt
    const limit = this.#hasTakenOff ? COM_DISARM_LAND : COM_DISARM_PRFLT
    if (this.#seconds - since >= limit) this.isArmed = false
  }

  #watchFailsafes(): void {
    if (!this.isArmed || this.isLanded) return
    const { NAV_DLL_ACT, COM_DL_LOSS_T, COM_LOW_BAT_ACT, BAT_CRIT_THR } = this.parameters
    // without a position an automatic mode descends, which its heartbeat calls a landing
    if (!this.isPositionValid && this.mode.startsWith('auto_')) this.#enter('auto_land')
    if (this.#seconds - this.#stationAt > COM_DL_LOSS_T) {
      const action = ([undefined, 'auto_loiter', 'auto_rtl', 'auto_land'] as const)[NAV_DLL_ACT]
      if (action !== undefined) this.#enter(action)
    }
    if (this.battery_percent < BAT_CRIT_THR) {
      if (COM_LOW_BAT_ACT === 2) this.#enter('auto_land')
      if (COM_LOW_BAT_ACT === 3 && this.mode !== 'auto_land') this.#enter('auto_rtl')
    }
  }

  #enter(mode: Px4Mode): void {
    if (this.mode === mode || !this.#change(mode)) return
    this.#say(2, `Failsafe: ${mode}`)
  }

  #reject(text: string): number {
    this.#say(2, text)
    return RESULT.temporarilyRejected
  }

  #say(severity: number, text: string): void {
    this.texts.push({ severity, text })
  }
}
