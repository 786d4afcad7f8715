import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import type { Test } from 'tap'
import { encodeFrame, type Frame, parseFrames } from '../../../devices/links/mavlink/frame.ts'
import { decodePayload, type Message } from '../../../devices/links/mavlink/message.ts'
import {
  ATTITUDE,
  BATTERY_STATUS,
  COMMAND_ACK,
  COMMAND_INT,
  COMMAND_LONG,
  GLOBAL_POSITION_INT,
  GPS_RAW_INT,
  HEARTBEAT,
  HOME_POSITION,
  SYS_STATUS,
} from '../../../devices/links/mavlink/messages.ts'
import {
  EKF_STATUS_REPORT,
  EXTENDED_SYS_STATE,
  FENCE_STATUS,
  REQUEST_DATA_STREAM,
  SYSTEM_TIME,
} from '../../../devices/links/mavlink/status-messages.ts'
import type { Json } from '../../../devices/profile.ts'

const ARMED = 0x80
const TELEMETRY_MS = 20
const DO_SET_MODE = 176
const NAV_TAKEOFF = 22
const DO_CHANGE_SPEED = 178
const DO_REPOSITION = 192
const ARM_DISARM = 400
const SET_MESSAGE_INTERVAL = 511
const REQUEST_MESSAGE = 512
export const STABILIZE = 0
export const GUIDED = 4
export const LOITER = 5
export const BRAKE = 17
export const LAND = 9
export const RTL = 6
/** `Mode::Number` of `ArduCopter/mode.h`: any other number is refused. */
const MODES = [0, 1, 2, 3, 4, 5, 6, 7, 9, 11, 13, 14, 15, 16, 17, 18, 20, 21, 22, 23, 24, 25, 28]
/** `MAV_RESULT_ACCEPTED`, `MAV_RESULT_DENIED` and `MAV_RESULT_FAILED`. */
const ACCEPTED = 0
const DENIED = 2
const FAILED = 4
const PREARM_CHECK = 0x1000_0000
const PX4 = 12
/** All that a position filter needs, and nothing that it must not have. */
const EKF_FINE = 0x33f

interface Command {
  message: 'COMMAND_LONG' | 'COMMAND_INT'
  fields: Record<string, number>
}

/**
 * Finds a free UDP port of loopback outside the range from which systems give ports (IANA: 49152 and up,
 * Linux: 32768 and up): no socket that binds port 0 takes it before its user does.
 */
export const findUdpPort = async (): Promise<number> => {
  for (;;) {
    const socket = createSocket('udp4').bind(randomInt(20_000, 32_000), '127.0.0.1')
    const isFree = await once(socket, 'listening').then(
      () => true,
      () => false,
    )
    const port = isFree ? socket.address().port : undefined
    if (isFree) await once(socket.close(), 'close')
    if (port !== undefined) return port
  }
}

/**
 * Copter at the end of a UDP socket: it is where it is sent at once. Like ArduPilot it sends nothing but
 * heartbeats until it is asked for a message (`GCS_MAVLINK::set_message_interval`), refuses unknown
 * modes, and goes to a position in guided flight only.
 */
export class StandInCopter {
  readonly received: Command[] = []
  readonly heartbeats: object[] = []
  /** System ids that have sent something. */
  readonly senders = new Set<number>()
  /** Ids of the messages that it was asked for. */
  readonly asked = new Set<number>()
  /** Groups of the older request. */
  readonly groups: number[] = []
  readonly state = {
    type: 2,
    autopilot: 3,
    base_mode: 0x51,
    custom_mode: 0,
    lat: 48.1,
    lon: 11.5,
    altitude_m: 0,
    speed_m_s: 0,
    battery_percent: 76,
    battery_volts: 15.9,
    launch: { lat: 48.1, lon: 11.5 },
    fix_type: 3,
    /** False once no fix arrives: ArduPilot repeats the time and, for 4 s, the type of the last one. */
    hasNewFixes: true,
    ekf_flags: EKF_FINE,
    is_fence_breached: false,
    isReadyToArm: true,
    /** Modes that it refuses now, such as those that need a position. */
    refusedModes: [] as number[],
  }
  /** Result of a command by its number; `undefined` for no acknowledgement and no effect. */
  answer: (command: number, attempt: number) => number | undefined = () => ACCEPTED
  /** True for a command that is acknowledged and has no effect. */
  ignores: (command: number) => boolean = () => false
  /** True for a command whose acknowledgement never arrives. */
  losesAcks: (command: number) => boolean = () => false
  isHanging = false
  /** True for a vehicle that sends nothing. */
  isSilent = false
  /** True for a vehicle that sends all messages unasked, since somebody else has asked before. */
  isStreaming = false
  #bootedAt = performance.now() - 60_000
  #fixTime = 0
  readonly #socket = createSocket('udp4')
  readonly #port: number
  readonly #systemId: number
  #sequence = 0

  constructor(t: Test, port: number, systemId = 1) {
    this.#port = port
    this.#systemId = systemId
    this.#socket.on('message', bytes => {
      for (const frame of parseFrames(bytes)) this.#take(frame)
    })
    this.#socket.bind(0, '127.0.0.1')
    const timer = setInterval(() => this.beat(), TELEMETRY_MS)
    t.teardown(() => {
      clearInterval(timer)
      this.#socket.close()
    })
  }

  /** Restarts the vehicle, which forgets the requested messages. */
  reboot(): void {
    this.asked.clear()
    this.#bootedAt = performance.now()
  }

  get isFlying(): boolean {
    return this.state.altitude_m > 0
  }

  /** Sends a heartbeat, and the messages that it was asked for. */
  beat(): void {
    const { type, autopilot, base_mode, custom_mode } = this.state
    this.send(HEARTBEAT, { type, autopilot, base_mode, custom_mode, system_status: 4 })
    for (const [message, values] of this.#listTelemetry())
      if (this.isStreaming || this.asked.has(message.id)) this.send(message, values)
  }

  send(message: Message, values: object): void {
    const head = { sequence: this.#sequence++, systemId: this.#systemId, componentId: 1 }
    this.sendBytes(encodeFrame(message, values, { ...head, version: 2 }))
  }

  /** Counts a frame that never arrives. */
  skip(): void {
    this.#sequence += 1
  }

  acknowledge(command: number, result: number): void {
    if (this.losesAcks(command)) return
    this.send(COMMAND_ACK, { command, result, target_system: 0 })
  }

  sendBytes(bytes: Uint8Array): void {
    if (this.isSilent) return
    this.#socket.send(bytes, this.#port, '127.0.0.1')
  }

  /** Commands in the form of a plan. */
  listReceived(): Json[] {
    return this.received as unknown as Json[]
  }

  /** Names of the received commands: `176` with its mode as `176:4`. */
  listCommands(): string[] {
    return this.received.map(({ fields }) =>
      fields.command === DO_SET_MODE ? `${fields.command}:${fields.param2}` : `${fields.command}`,
    )
  }

  #listTelemetry(): (readonly [Message, object])[] {
    const { lat, lon, altitude_m, speed_m_s, launch, ...state } = this.state
    const time_boot_ms = Math.round(performance.now() - this.#bootedAt)
    if (state.hasNewFixes) this.#fixTime = time_boot_ms * 1000
    const fix = { time_usec: this.#fixTime, fix_type: state.fix_type }
    const landed_state = this.isFlying ? 2 : 1
    const prearm = {
      onboard_control_sensors_present: PREARM_CHECK,
      onboard_control_sensors_enabled: PREARM_CHECK,
      onboard_control_sensors_health: state.isReadyToArm ? PREARM_CHECK : 0,
    }
    const voltage_battery = Math.round(state.battery_volts * 1000)
    const battery_remaining = state.battery_percent
    return [
      [SYSTEM_TIME as Message, { time_boot_ms }],
      [ATTITUDE as Message, { time_boot_ms }],
      [GPS_RAW_INT as Message, { ...fix, satellites_visible: 12, eph: 80 }],
      [BATTERY_STATUS as Message, { battery_remaining }],
      [SYS_STATUS as Message, { ...prearm, battery_remaining, voltage_battery }],
      [EKF_STATUS_REPORT as Message, { flags: state.ekf_flags }],
      [FENCE_STATUS as Message, { breach_status: state.is_fence_breached ? 1 : 0 }],
      [EXTENDED_SYS_STATE as Message, { landed_state }],
      [
        HOME_POSITION as Message,
        { latitude: toE7(launch.lat), longitude: toE7(launch.lon), altitude: 500_000 },
      ],
      [
        GLOBAL_POSITION_INT as Message,
        {
          time_boot_ms,
          lat: toE7(lat),
          lon: toE7(lon),
          relative_alt: Math.round(altitude_m * 1000),
          vx: Math.round(speed_m_s * 100),
          hdg: 9000,
        },
      ],
    ]
  }

  #take({ message, payload, systemId }: Frame): void {
    this.senders.add(systemId)
    if (message?.id === COMMAND_LONG.id) {
      const { confirmation, ...fields } = decodePayload(COMMAND_LONG, payload)
      if (fields.command === SET_MESSAGE_INTERVAL) this.asked.add(fields.param1)
      else if (fields.command === REQUEST_MESSAGE) this.beat()
      else this.#obey({ message: 'COMMAND_LONG', fields }, confirmation)
    } else if (message?.id === REQUEST_DATA_STREAM.id) {
      this.groups.push(decodePayload(REQUEST_DATA_STREAM, payload).req_stream_id)
    } else if (message?.id === HEARTBEAT.id) {
      this.heartbeats.push(decodePayload(HEARTBEAT, payload))
    } else if (message?.id === COMMAND_INT.id) {
      const { current: _, autocontinue: __, ...fields } = decodePayload(COMMAND_INT, payload)
      this.#obey({ message: 'COMMAND_INT', fields }, 0)
    }
  }

  #obey(command: Command, attempt: number): void {
    this.received.push(command)
    const { command: number = 0 } = command.fields
    const given = this.answer(number, attempt)
    if (given === undefined) return
    const result = given === ACCEPTED ? this.#judge(command) : given
    if (result === ACCEPTED && !this.ignores(number)) this.#change(command)
    this.acknowledge(number, result)
    this.beat()
  }

  /** `handle_command_int_packet` and `handle_command_do_set_mode` of ArduCopter. */
  #judge({ fields }: Command): number {
    const { command, param2 = 0 } = fields
    const { custom_mode, base_mode, refusedModes } = this.state
    if (command === DO_SET_MODE)
      return MODES.includes(param2) && !refusedModes.includes(param2) ? ACCEPTED : FAILED
    if (command === DO_REPOSITION && this.state.autopilot !== PX4)
      return custom_mode === GUIDED || (param2 & 1) === 1 ? ACCEPTED : DENIED
    if (command === NAV_TAKEOFF)
      return custom_mode === GUIDED && (base_mode & ARMED) !== 0 && !this.isFlying
        ? ACCEPTED
        : FAILED
    if (command === DO_CHANGE_SPEED) return param2 > 0 ? ACCEPTED : FAILED
    return ACCEPTED
  }

  #change({ message, fields }: Command): void {
    const { command, param1 = 0, param2 = 0, param7 = 0, x = 0, y = 0, z = 0 } = fields
    const isPx4 = this.state.autopilot === PX4
    if (command === DO_SET_MODE)
      this.#changeMode(isPx4 ? param2 * 2 ** 16 + (fields.param3 ?? 0) * 2 ** 24 : param2)
    if (command === ARM_DISARM) this.state.base_mode = 0x51 | (param1 === 1 ? ARMED : 0)
    if (this.isHanging && [NAV_TAKEOFF, DO_REPOSITION].includes(Number(command)))
      this.state.speed_m_s = 3
    if (this.isHanging) return
    if (command === NAV_TAKEOFF) this.state.altitude_m = param7
    if (message === 'COMMAND_INT' && !isPx4)
      Object.assign(this.state, { lat: x / 1e7, lon: y / 1e7, altitude_m: z })
  }

  #changeMode(mode: number): void {
    this.state.custom_mode = mode
    if (mode !== RTL) this.state.speed_m_s = 0
    if (mode === RTL && this.isHanging) this.state.speed_m_s = 3
    if (![RTL, LAND].includes(mode) || this.isHanging) return
    const place = mode === RTL ? this.state.launch : {}
    Object.assign(this.state, { ...place, altitude_m: 0, base_mode: 0x51 })
  }
}

const toE7 = (degrees: number): number => Math.round(degrees * 1e7)
