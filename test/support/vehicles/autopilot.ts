import { type ChildProcess, spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { waitUntil } from '../wait-until.ts'
import { bindLoopback, Radio } from './radio.ts'
import { SecondPort } from './second-port.ts'

/** Programs of ArduPilot that can be flown, and the model that its simulator has for each. */
const MODELS = { copter: 'quad', rover: 'rover', plane: 'plane', sub: 'vectored' } as const
type VehicleProgram = keyof typeof MODELS

export interface Home {
  lat: number
  lon: number
  altitude_m: number
}

export interface AutopilotOptions {
  kind: VehicleProgram
  /** Path of the built program. */
  program: string
  /** UDP port of the cell. */
  cellPort: number
  systemId?: number
  home?: Home
  /** Parameters of the autopilot beside those that make it fly. */
  parameters?: Readonly<Record<string, number>>
}

const HOME: Home = { lat: 48.1, lon: 11.5, altitude_m: 500 }

/** Parameters with which a simulated airframe passes the pre-arm checks: calibrated sensors. */
const CALIBRATED: Readonly<Record<string, number>> = {
  LOG_BACKEND_TYPE: 0,
  BATT_MONITOR: 4,
  ...Object.fromEntries(
    ['', '2'].flatMap(unit =>
      ['X', 'Y', 'Z'].flatMap(axis => [
        [`INS_ACC${unit}OFFS_${axis}`, 0.001],
        [`INS_ACC${unit}SCAL_${axis}`, 1.001],
      ]),
    ),
  ),
}
/** Offsets of the simulated compasses. */
const COMPASSES = Object.fromEntries(
  ['', '2', '3'].flatMap(unit =>
    Object.entries({ X: 5, Y: 13, Z: -18 }).map(([axis, value]) => [
      `COMPASS_OFS${unit}_${axis}`,
      value,
    ]),
  ),
)
const OWN: Readonly<Record<VehicleProgram, Readonly<Record<string, number>>>> = {
  copter: {
    FRAME_CLASS: 1,
    FRAME_TYPE: 0,
    MOT_THST_HOVER: 0.39,
    MOT_BAT_VOLT_MIN: 9.6,
    ...COMPASSES,
  },
  rover: { CRUISE_SPEED: 5, CRUISE_THROTTLE: 30, ATC_STR_RAT_FF: 0.75, ...COMPASSES },
  plane: COMPASSES,
  sub: COMPASSES,
}

/** A program of ArduPilot in simulation with a radio to the cell, and a second port for the truth. */
export class Autopilot {
  readonly radio: Radio
  readonly second: SecondPort
  readonly home: Home
  readonly #options: AutopilotOptions
  readonly #folder: string
  readonly #rcPort: number
  #child: ChildProcess | undefined

  private constructor(options: AutopilotOptions, radio: Radio, second: SecondPort, rcPort: number) {
    this.#options = options
    this.radio = radio
    this.second = second
    this.home = options.home ?? HOME
    this.#rcPort = rcPort
    this.#folder = mkdtempSync(join(tmpdir(), 'shoal-autopilot-'))
  }

  static async open(options: AutopilotOptions): Promise<Autopilot> {
    const { altitude_m: homeAltitude_m } = options.home ?? HOME
    const radio = await Radio.open(options.cellPort)
    const second = await SecondPort.open({ system: options.systemId ?? 1, homeAltitude_m })
    const spare = createSocket('udp4')
    const rcPort = await bindLoopback(spare)
    spare.close()
    const autopilot = new Autopilot(options, radio, second, rcPort)
    autopilot.start(['-w'])
    return autopilot
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Starts the program; `-w` wipes its memory. */
  start(more: readonly string[] = []): void {
    const { kind, program } = this.#options
    const { lat, lon, altitude_m } = this.home
    const file = join(this.#folder, 'defaults.parm')
    writeFileSync(file, this.#listParameters())
    const log = openSync(join(this.#folder, 'program.log'), 'a')
    const args = [
      ...['--model', MODELS[kind], '--speedup', '1', '--home', `${lat},${lon},${altitude_m},0`],
      ...['--defaults', file, '--rc-in-port', String(this.#rcPort)],
      ...['--serial0', `udpclient:127.0.0.1:${this.radio.port}`],
      ...['--serial1', `udpclient:127.0.0.1:${this.second.port}`, '--serial2', 'none', ...more],
    ]
    this.#child = spawn(program, args, { cwd: this.#folder, stdio: ['ignore', log, log] })
  }

  /** Ends the program, as a loss of power does. The simulated vehicle is at its home afterwards. */
  async end(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  /** Resolves when the simulator sends its truth. */
  async waitForTruth(): Promise<void> {
    const begun = Date.now()
    await waitUntil('the simulator runs', () => (this.second.truth?.at ?? 0) > begun, 100)
  }

  /** Resolves when the autopilot knows its place, by its own words. */
  async waitForPosition(): Promise<void> {
    const hasPosition = (): boolean =>
      this.second.texts.some(({ text }) => /EKF3 IMU\d is using GPS/.test(text))
    await waitUntil('the autopilot knows its place', hasPosition, 500, 300_000)
  }

  async close(): Promise<void> {
    await this.end()
    this.radio.close()
    this.second.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #listParameters(): string {
    const { kind, systemId = 1, parameters } = this.#options
    const all = { SYSID_THISMAV: systemId, ...CALIBRATED, ...OWN[kind], ...parameters }
    return Object.entries(all)
      .map(([name, value]) => `${name} ${value}\n`)
      .join('')
  }
}
