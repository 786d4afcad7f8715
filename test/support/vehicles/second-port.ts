import { createSocket } from 'node:dgram'
import { common, type MavLinkData, MavLinkProtocolV2, minimal } from 'node-mavlink'
import { pause, waitUntil } from '../wait-until.ts'
import { bindLoopback } from './radio.ts'
import { type ReceivedFrame, splitFrames } from './split-frames.ts'
import type { AutopilotState, Truth, TruthSource } from './truth.ts'

/** Ids of a second ground station, that of a pilot. */
const PILOT = { system: 254, component: 190 }
/** Rates at which the second port asks for messages, in hertz. */
const RATES: readonly [id: number, hertz: number][] = [
  [common.SimState.MSG_ID, 10],
  [minimal.Heartbeat.MSG_ID, 5],
]
/** Commands of `common.xml`. */
const SET_MESSAGE_INTERVAL = 511
const DO_SET_MODE = 176
const CUSTOM_MODE = 1
const ARMED = 0x80
/** Longest memory, in samples: ten minutes and more. */
const MAX_SAMPLES = 10_000

/**
 * Second MAVLink port of an autopilot in simulation: the truth of the simulator, and a pilot who
 * changes modes and parameters. It decodes with node-mavlink, and shares no code with the link.
 */
export class SecondPort implements TruthSource {
  readonly track: Truth[] = []
  readonly states: AutopilotState[] = []
  readonly texts: { at: number; severity: number; text: string }[] = []
  readonly #socket = createSocket('udp4')
  readonly #protocol = new MavLinkProtocolV2(PILOT.system, PILOT.component)
  readonly #parameters = new Map<string, number>()
  readonly #system: number
  readonly #homeAltitude_m: number
  #peerPort: number | undefined
  #sequence = 0
  readonly #asking: NodeJS.Timeout

  private constructor({ system, homeAltitude_m }: { system: number; homeAltitude_m: number }) {
    this.#system = system
    this.#homeAltitude_m = homeAltitude_m
    this.#asking = setInterval(() => this.#askIfSilent(), 1000)
  }

  static async open(parts: { system: number; homeAltitude_m: number }): Promise<SecondPort> {
    const port = new SecondPort(parts)
    port.#socket.on('message', (bytes, peer) => {
      port.#peerPort = peer.port
      // an autopilot forwards the heartbeats of other systems between its ports
      for (const frame of splitFrames(bytes)) if (frame.system === parts.system) port.#take(frame)
    })
    await bindLoopback(port.#socket)
    return port
  }

  get port(): number {
    return this.#socket.address().port
  }

  get truth(): Truth | undefined {
    return this.track.at(-1)
  }

  get state(): AutopilotState | undefined {
    return this.states.at(-1)
  }

  close(): void {
    clearInterval(this.#asking)
    this.#socket.close()
  }

  /** The pilot changes the mode, and sees it change. */
  async setMode(mode: number): Promise<void> {
    await waitUntil(
      `the pilot has mode ${mode}`,
      () => {
        this.command(DO_SET_MODE, CUSTOM_MODE, mode)
        return this.state?.mode === mode
      },
      500,
    )
  }

  command(command: number, ...params: number[]): void {
    const message = new common.CommandLong()
    const [p1 = 0, p2 = 0, p3 = 0, p4 = 0, p5 = 0, p6 = 0, p7 = 0] = params
    Object.assign(message, { _param1: p1, _param2: p2, _param3: p3, _param4: p4 })
    Object.assign(message, { _param5: p5, _param6: p6, _param7: p7 })
    Object.assign(message, { command, targetSystem: this.#system, targetComponent: 1 })
    this.#send(message)
  }

  /** Sets a parameter and waits until the autopilot has confirmed the value. */
  async setParameter(name: string, value: number): Promise<void> {
    this.#parameters.delete(name)
    await waitUntil(
      `${name} is ${value}`,
      async () => {
        const message = new common.ParamSet()
        Object.assign(message, { paramId: name, paramValue: value, paramType: 9 })
        Object.assign(message, { targetSystem: this.#system, targetComponent: 1 })
        this.#send(message)
        await pause(200)
        return Math.abs((this.#parameters.get(name) ?? Number.NaN) - value) < 1e-3
      },
      300,
    )
  }

  #askIfSilent(): void {
    const age_ms = Date.now() - (this.truth?.at ?? 0)
    if (age_ms < 1500) return
    for (const [id, hertz] of RATES) this.command(SET_MESSAGE_INTERVAL, id, 1e6 / hertz)
  }

  #send(message: MavLinkData): void {
    if (this.#peerPort === undefined) return
    const bytes = this.#protocol.serialize(message, this.#sequence++ & 0xff)
    this.#socket.send(bytes, this.#peerPort, '127.0.0.1')
  }

  #take({ id, payload }: ReceivedFrame): void {
    const at = Date.now()
    const read = <T extends MavLinkData>(type: new () => T): T =>
      this.#protocol.data(payload, type as never) as T
    if (id === common.SimState.MSG_ID) this.#takeTruth(read(common.SimState), at)
    else if (id === minimal.Heartbeat.MSG_ID) this.#takeState(read(minimal.Heartbeat), at)
    else if (id === common.ParamValue.MSG_ID) {
      const { paramId, paramValue } = read(common.ParamValue)
      this.#parameters.set(paramId, paramValue)
    } else if (id === common.StatusText.MSG_ID) {
      const { severity, text } = read(common.StatusText)
      keep(this.texts, { at, severity, text })
    }
  }

  #takeTruth({ latInt, lonInt, alt, vn, ve, vd }: common.SimState, at: number): void {
    keep(this.track, {
      at,
      lat: latInt / 1e7,
      lon: lonInt / 1e7,
      altitude_m: alt - this.#homeAltitude_m,
      speed_m_s: Math.hypot(vn, ve),
      climb_m_s: -vd,
    })
  }

  #takeState({ baseMode, customMode, systemStatus }: minimal.Heartbeat, at: number): void {
    keep(this.states, { at, mode: customMode, isArmed: (baseMode & ARMED) !== 0, systemStatus })
  }
}

const keep = <T>(list: T[], one: T): void => {
  list.push(one)
  if (list.length > MAX_SAMPLES) list.shift()
}
