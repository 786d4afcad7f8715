import { createSocket } from 'node:dgram'
import { common, type MavLinkData, MavLinkProtocolV2, minimal } from 'node-mavlink'
import {
  customModeOf,
  namePx4Mode,
  Px4Commander,
  type Px4Home,
  type Px4Parameters,
  RESULT,
} from './px4-commander.ts'
import { bindLoopback } from './radio.ts'
import { splitFrames } from './split-frames.ts'
import type { AutopilotState, Truth, TruthSource } from './truth.ts'

/** Ids of the autopilot, and the kind that its heartbeat has: a quadrotor with PX4. */
const AUTOPILOT = { system: 1, component: 1 }
const KIND = { type: 2, autopilot: 12 }
const ARMED = 0x80
const CUSTOM = 1
const STATION = 6
const TICK_MS = 20
const TRUTH_MS = 100
/** `VEHICLE_CMD_SET_MESSAGE_INTERVAL`, `REQUEST_MESSAGE` and `GET_HOME_POSITION`. */
const SET_MESSAGE_INTERVAL = 511
const REQUEST_MESSAGE = 512
const GET_HOME_POSITION = 410

interface Px4Options {
  /** UDP port that it sends to: that of a radio, or of a cell. */
  port: number
  home?: Px4Home
  parameters?: Partial<Px4Parameters>
  /** Simulated seconds in a second, a whole number. */
  speedup?: number
}

interface Stream {
  /** Rate of a telemetry port, `MAVLINK_MODE_NORMAL` of `mavlink_main.cpp`, in hertz. */
  hertz: number
  /** Undefined while PX4 has nothing to send. */
  create: () => MavLinkData | undefined
}

/**
 * PX4 on a quadrotor at the end of a UDP socket, as its MAVLink module answers
 * (`mavlink_receiver.cpp`, `mavlink_main.cpp`): the default streams of a telemetry port, acknowledgements
 * to the sender, and silence on messages that it does not know. It flies a point mass.
 */
export class Px4StandIn implements TruthSource {
  readonly track: Truth[] = []
  readonly states: AutopilotState[] = []
  readonly commander: Px4Commander
  /** Commands that arrived, with their answers. */
  readonly received: { command: number; params: readonly number[]; result: number }[] = []
  readonly #socket = createSocket('udp4')
  readonly #protocol = new MavLinkProtocolV2(AUTOPILOT.system, AUTOPILOT.component)
  readonly #options: Px4Options
  readonly #rates = new Map<number, number>()
  readonly #sentAt = new Map<number, number>()
  readonly #streams: ReadonlyMap<number, Stream>
  #timer: NodeJS.Timeout | undefined
  #sequence = 0
  #bootedAt = Date.now()
  #truthAt = 0

  private constructor(options: Px4Options) {
    this.#options = options
    const home = options.home ?? { lat: 48.1, lon: 11.5, altitude_m: 500 }
    this.commander = new Px4Commander(home, options.parameters)
    this.#streams = this.#listStreams()
  }

  static async open(options: Px4Options): Promise<Px4StandIn> {
    const vehicle = new Px4StandIn(options)
    vehicle.#socket.on('message', bytes => {
      for (const frame of splitFrames(bytes)) vehicle.#take(frame)
    })
    await bindLoopback(vehicle.#socket)
    vehicle.#timer = setInterval(() => vehicle.#tick(), TICK_MS)
    return vehicle
  }

  readonly nameMode = namePx4Mode

  close(): void {
    clearInterval(this.#timer)
    this.#socket.close()
  }

  #tick(): void {
    const { commander } = this
    for (let step = 0; step < (this.#options.speedup ?? 1); step++) commander.step(TICK_MS / 1000)
    const now = Date.now()
    for (const [id, { hertz }] of this.#streams) {
      const rate = this.#rates.get(id) ?? hertz
      if (rate <= 0 || now - (this.#sentAt.get(id) ?? 0) < 1000 / rate) continue
      this.#sentAt.set(id, now)
      this.#sendStream(id)
    }
    for (const { severity, text } of commander.texts.splice(0))
      this.#send(fill(new common.StatusText(), { severity, text }))
    if (now - this.#truthAt >= TRUTH_MS) this.#noteTruth(now)
  }

  #noteTruth(at: number): void {
    this.#truthAt = at
    const { mass, mode, isArmed } = this.commander
    const { lat, lon } = this.commander.place()
    const speed_m_s = Math.hypot(mass.vNorth, mass.vEast)
    this.track.push({ at, lat, lon, altitude_m: mass.up, speed_m_s, climb_m_s: mass.vUp })
    this.states.push({ at, mode: customModeOf(mode), isArmed, systemStatus: isArmed ? 4 : 3 })
  }

  #take({ id, system, payload }: { id: number; system: number; payload: Buffer }): void {
    const read = <T extends MavLinkData>(type: new () => T): T =>
      this.#protocol.data(payload, type as never) as T
    if (id === minimal.Heartbeat.MSG_ID) {
      if ((read(minimal.Heartbeat).type as number) === STATION) this.commander.hearStation()
    } else if (id === common.CommandLong.MSG_ID) {
      const message = read(common.CommandLong)
      const params = [1, 2, 3, 4, 5, 6, 7].map(n => Number((message as never)[`_param${n}`]))
      this.#obey(message, params, system)
    } else if (id === common.CommandInt.MSG_ID) {
      const message = read(common.CommandInt)
      const params = [1, 2, 3, 4].map(n => Number((message as never)[`_param${n}`]))
      const [x = 0, y = 0, z = 0] = [5, 6, 7].map(n => Number((message as never)[`_param${n}`]))
      const isAbsent = x === 0x7fff_ffff && y === 0x7fff_ffff
      const place = isAbsent ? [Number.NaN, Number.NaN] : [x / 1e7, y / 1e7]
      // the frame is not looked at: an altitude is above the sea
      this.#obey(message, [...params, ...place, z], system)
    }
  }

  #obey(
    {
      command,
      targetSystem,
      targetComponent,
    }: {
      command: number
      targetSystem: number
      targetComponent: number
    },
    params: readonly number[],
    sender: number,
  ): void {
    const isMine =
      targetSystem === AUTOPILOT.system && [0, AUTOPILOT.component].includes(targetComponent)
    const result = isMine ? this.#carryOut(command, params) : RESULT.failed
    this.received.push({ command, params, result })
    const target = { targetSystem: sender, targetComponent: 190 }
    this.#send(fill(new common.CommandAck(), { command, result, ...target }))
  }

  #carryOut(command: number, params: readonly number[]): number {
    const [p1 = 0, p2 = 0] = params
    if (command === SET_MESSAGE_INTERVAL) return this.#setInterval(Math.round(p1), p2)
    if (command === REQUEST_MESSAGE) return this.#sendOnce(Math.round(p1))
    if (command === GET_HOME_POSITION) return this.#sendOnce(common.HomePosition.MSG_ID)
    return this.commander.handle({ command, params: params as never })
  }

  #setInterval(id: number, interval_us: number): number {
    const stream = this.#streams.get(id)
    if (stream === undefined) return RESULT.failed
    this.#rates.set(id, interval_us < 0 ? 0 : interval_us === 0 ? stream.hertz : 1e6 / interval_us)
    return RESULT.accepted
  }

  #sendOnce(id: number): number {
    if (!this.#streams.has(id)) return RESULT.denied
    this.#sendStream(id)
    return RESULT.accepted
  }

  #sendStream(id: number): void {
    const message = this.#streams.get(id)?.create()
    if (message !== undefined) this.#send(message)
  }

  #send(message: MavLinkData): void {
    const bytes = this.#protocol.serialize(message, this.#sequence++ & 0xff)
    this.#socket.send(bytes, this.#options.port, '127.0.0.1')
  }

  #listStreams(): ReadonlyMap<number, Stream> {
    const { commander } = this
    const { home } = commander
    const bootMs = () => Date.now() - this.#bootedAt
    const scale = () => {
      const { lat, lon } = commander.place()
      return { lat: Math.round(lat * 1e7), lon: Math.round(lon * 1e7) }
    }
    const list: [type: { MSG_ID: number }, Stream][] = [
      [
        minimal.Heartbeat,
        {
          hertz: 1,
          create: () =>
            fill(new minimal.Heartbeat(), {
              ...KIND,
              baseMode: CUSTOM | (commander.isArmed ? ARMED : 0),
              customMode: customModeOf(commander.mode),
              systemStatus: commander.isArmed ? 4 : 3,
              mavlinkVersion: 3,
            }),
        },
      ],
      [
        common.GlobalPositionInt,
        {
          hertz: 5,
          create: () => {
            if (!commander.isPositionValid) return undefined
            const { up, vNorth, vEast, vUp } = commander.mass
            const alt = Math.round((home.altitude_m + up) * 1000)
            const speeds = { vx: vNorth * 100, vy: vEast * 100, vz: -vUp * 100 }
            return fill(new common.GlobalPositionInt(), {
              ...scale(),
              ...Object.fromEntries(Object.entries(speeds).map(([k, v]) => [k, Math.round(v)])),
              ...{ alt, relativeAlt: Math.round(up * 1000), hdg: 0, timeBootMs: bootMs() },
            })
          },
        },
      ],
      [
        common.VfrHud,
        {
          hertz: 4,
          create: () => {
            const { vNorth, vEast, vUp, up } = commander.mass
            const groundspeed = Math.hypot(vNorth, vEast)
            return fill(new common.VfrHud(), {
              ...{ groundspeed, airspeed: groundspeed, climb: vUp, alt: home.altitude_m + up },
            })
          },
        },
      ],
      [
        common.SysStatus,
        {
          hertz: 1,
          create: () =>
            fill(new common.SysStatus(), {
              ...{ batteryRemaining: commander.battery_percent, voltageBattery: 15_400 },
              // MAV_SYS_STATUS_PREARM_CHECK
              onboardControlSensorsPresent: 0x1000_0000,
              onboardControlSensorsEnabled: 0x1000_0000,
              onboardControlSensorsHealth: commander.isHealthy ? 0x1000_0000 : 0,
            }),
        },
      ],
      [
        common.GpsRawInt,
        {
          hertz: 1,
          create: () =>
            fill(new common.GpsRawInt(), {
              ...scale(),
              ...{ fixType: commander.hasGps ? 3 : 1, satellitesVisible: 12, eph: 80 },
            }),
        },
      ],
      [
        common.ExtendedSysState,
        {
          hertz: 1,
          create: () =>
            fill(new common.ExtendedSysState(), {
              vtolState: 0,
              landedState: findLandedState(commander),
            }),
        },
      ],
      [
        common.HomePosition,
        {
          hertz: 0.5,
          create: () =>
            fill(new common.HomePosition(), {
              latitude: Math.round(home.lat * 1e7),
              longitude: Math.round(home.lon * 1e7),
              altitude: Math.round(home.altitude_m * 1000),
              q: [1, 0, 0, 0],
            }),
        },
      ],
      [
        common.BatteryStatus,
        {
          hertz: 0.5,
          create: () =>
            fill(new common.BatteryStatus(), {
              batteryRemaining: commander.battery_percent,
              voltages: Array.from({ length: 10 }, (_, cell) => (cell < 4 ? 3850 : 0xffff)),
            }),
        },
      ],
      [
        common.EstimatorStatus,
        {
          hertz: 0.5,
          // attitude, velocities, relative and absolute position
          create: () =>
            fill(new common.EstimatorStatus(), { flags: commander.isPositionValid ? 0x3f : 0x27 }),
        },
      ],
      [
        common.Attitude,
        { hertz: 15, create: () => fill(new common.Attitude(), { timeBootMs: bootMs() }) },
      ],
    ]
    return new Map(list.map(([{ MSG_ID }, stream]) => [MSG_ID, stream]))
  }
}

/** `MAV_LANDED_STATE`: on the ground, in the air, taking off, landing. */
const findLandedState = ({ isLanded, mode }: Px4Commander): number => {
  if (isLanded) return 1
  if (mode === 'auto_takeoff') return 3
  return mode === 'auto_land' ? 4 : 2
}

const fill = <T extends MavLinkData>(message: T, values: object): T =>
  Object.assign(message, values)
