import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import type { Test } from 'tap'
import { encodeFrame, type Frame, parseFrames } from '../../../devices/links/mavlink/frame.ts'
import { decodePayload, type Message } from '../../../devices/links/mavlink/message.ts'
import {
  BATTERY_STATUS,
  COMMAND_ACK,
  COMMAND_INT,
  COMMAND_LONG,
  GLOBAL_POSITION_INT,
  GPS_RAW_INT,
  HEARTBEAT,
  HOME_POSITION,
} from '../../../devices/links/mavlink/messages.ts'
import type { Json } from '../../../devices/profile.ts'

const ARMED = 0x80
const TELEMETRY_MS = 20
const DO_SET_MODE = 176
const NAV_TAKEOFF = 22
const NAV_LAND = 21
const ARM_DISARM = 400
const RETURN = 20
const REQUEST_MESSAGE = 512
export const BRAKE = 17
export const LAND = 9
export const RTL = 6

interface Command {
  message: 'COMMAND_LONG' | 'COMMAND_INT'
  fields: Record<string, number>
}

/** Reserves a UDP port of loopback, and lets go of it. */
export const findUdpPort = async (): Promise<number> => {
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const { port } = socket.address()
  socket.close()
  return port
}

/** Copter at the end of a UDP socket: it sends telemetry, acknowledges commands and is there at once. */
export class StandInCopter {
  readonly received: Command[] = []
  readonly heartbeats: object[] = []
  /** Number of messages that the cell has asked for. */
  questions = 0
  readonly state = {
    base_mode: 0x51,
    custom_mode: 0,
    lat: 48.1,
    lon: 11.5,
    altitude_m: 0,
    battery_percent: 76,
    launch: { lat: 48.1, lon: 11.5 },
  }
  /** Result of a command by its number; `undefined` for no acknowledgement. */
  answer: (command: number, attempt: number) => number | undefined = () => 0
  isHanging = false
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

  /** Sends a heartbeat and the telemetry that belongs to it. */
  beat(): void {
    const { base_mode, custom_mode, lat, lon, altitude_m, battery_percent } = this.state
    this.send(HEARTBEAT, { type: 2, autopilot: 3, base_mode, custom_mode, system_status: 4 })
    this.send(GPS_RAW_INT, { fix_type: 3, satellites_visible: 12, eph: 80 })
    this.send(BATTERY_STATUS, { battery_remaining: battery_percent })
    const [latE7, lonE7] = [Math.round(lat * 1e7), Math.round(lon * 1e7)]
    const relative_alt = Math.round(altitude_m * 1000)
    this.send(GLOBAL_POSITION_INT, { lat: latE7, lon: lonE7, relative_alt, vx: 300, hdg: 9000 })
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
    this.send(COMMAND_ACK, { command, result, target_system: 255 })
  }

  sendBytes(bytes: Uint8Array): void {
    this.#socket.send(bytes, this.#port, '127.0.0.1')
  }

  /** Commands in the form of a plan. */
  listReceived(): Json[] {
    return this.received as unknown as Json[]
  }

  #take({ message, payload }: Frame): void {
    if (message?.id === COMMAND_LONG.id) {
      const { confirmation, ...fields } = decodePayload(COMMAND_LONG, payload)
      if (fields.command === REQUEST_MESSAGE) this.#sendLaunch()
      else this.#obey({ message: 'COMMAND_LONG', fields }, confirmation)
    } else if (message?.id === HEARTBEAT.id) {
      this.heartbeats.push(decodePayload(HEARTBEAT, payload))
    } else if (message?.id === COMMAND_INT.id) {
      const { current: _, autocontinue: __, ...fields } = decodePayload(COMMAND_INT, payload)
      this.#obey({ message: 'COMMAND_INT', fields }, 0)
    }
  }

  #sendLaunch(): void {
    this.questions += 1
    const { lat, lon } = this.state.launch
    const [latitude, longitude] = [Math.round(lat * 1e7), Math.round(lon * 1e7)]
    this.send(HOME_POSITION, { latitude, longitude })
  }

  #obey(command: Command, attempt: number): void {
    this.received.push(command)
    const { command: number = 0 } = command.fields
    const result = this.answer(number, attempt)
    if (result === undefined) return
    if (result === 0) this.#change(command)
    this.acknowledge(number, result)
    this.beat()
  }

  #change({ message, fields }: Command): void {
    const { command, param1 = 0, param2 = 0, param7 = 0, x = 0, y = 0, z = 0 } = fields
    if (command === DO_SET_MODE) this.state.custom_mode = param2
    if (command === RETURN) this.state.custom_mode = RTL
    if (command === NAV_LAND) this.state.custom_mode = LAND
    if (command === ARM_DISARM) this.state.base_mode = 0x51 | (param1 === 1 ? ARMED : 0)
    if (this.isHanging) return
    if (command === RETURN) Object.assign(this.state, { ...this.state.launch, altitude_m: 0 })
    if (command === NAV_TAKEOFF) this.state.altitude_m = param7
    if (message === 'COMMAND_INT')
      Object.assign(this.state, { lat: x / 1e7, lon: y / 1e7, altitude_m: z })
  }
}
