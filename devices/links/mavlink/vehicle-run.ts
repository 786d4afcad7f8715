import { ShoalError } from '../../../shared/errors.ts'
import type { DeviceOutcome } from '../../../shared/wire/device-outcome.ts'
import { AskedLog } from '../../asked-log.ts'
import { DeviceFailure } from '../../device-failure.ts'
import type { RestObserver } from '../../rest-observer.ts'
import type { CommandExchange } from './command-exchange.ts'
import { adaptOperation, nameOperation, observeEffect, startsMotion } from './effects.ts'
import type { MavlinkBounds } from './goal.ts'
import type { ModeWatch } from './mode-watch.ts'
import { nameKnownMode } from './modes.ts'
import { armingOf, type MavlinkOperation, modeOf } from './operations.ts'
import { type StatusTexts, WARNING } from './status-texts.ts'
import { isWorse, mayFollowSilence, traitsOf } from './traits.ts'
import type { Vehicle } from './vehicle.ts'
import type { VehicleKind } from './vehicle-kind.ts'

/** Most texts of the autopilot in an outcome; the newest are kept. */
const MAX_TEXTS = 5

type RunBounds = Pick<MavlinkBounds, 'modes' | 'goal' | 'is_halt'>

interface RunParts {
  name: string
  vehicle: Vehicle
  kind: VehicleKind
  exchange: CommandExchange
  modes: ModeWatch
  texts: StatusTexts
  observer: RestObserver
  /** Monotonic milliseconds. */
  nowMs: () => number
}

/** One instruction on its way: what is asked of the vehicle, and what is observed since. */
export class VehicleRun {
  /** Aborts when a newer instruction replaces this one. */
  readonly turn = new AbortController()
  readonly kind: VehicleKind
  observer: RestObserver
  /** True once something was sent that can move the vehicle. */
  mayMove = false
  /** True once the vehicle has armed by this instruction. */
  hasArmed = false
  readonly #parts: RunParts
  readonly #log = new AskedLog()
  readonly #beganMs: number

  constructor(parts: RunParts) {
    this.#parts = parts
    this.kind = parts.kind
    this.observer = parts.observer
    this.#beganMs = parts.nowMs()
  }

  /**
   * Performs the first operation that the vehicle accepts and that has its effect. After silence the
   * next one is tried only while heartbeats arrive, and only where it keeps the place.
   * @throws ShoalError as the last one that was tried
   */
  async performFirst(
    operations: readonly MavlinkOperation[],
    bounds: RunBounds,
    signal: AbortSignal,
  ): Promise<void> {
    const tried = operations.filter((operation, index) => index === 0 || !this.#isWorse(operation))
    for (const [index, operation] of tried.entries()) {
      const sinceMs = this.#parts.nowMs()
      try {
        await this.#perform(operation, bounds, signal)
        return
      } catch (error) {
        const next = tried[index + 1]
        const mayGoOn = isRefusal(error) || (next && this.#mayFollowSilence(next, sinceMs))
        if (signal.aborted || next === undefined || !mayGoOn) throw error
      }
    }
  }

  get hasAsked(): boolean {
    return this.#log.asked.sent.length > 0
  }

  /** Operations asked, and the state in the newest readings and texts. */
  look(): DeviceOutcome {
    const seen = this.observer.look()
    const texts = this.listTexts().slice(-MAX_TEXTS)
    const values = {
      ...seen.values,
      ...(this.#parts.modes.isTakenOver && { is_taken_over: true }),
      ...(texts.length > 0 && { autopilot_texts: texts }),
    }
    return { asked: this.#log.asked, seen: { ...seen, values } }
  }

  /** Texts of the autopilot since the start, of severity warning or worse. */
  listTexts(): string[] {
    const { texts, nowMs } = this.#parts
    const since = texts.listSince(this.#beganMs, nowMs())
    return since.filter(({ severity }) => severity <= WARNING).map(({ text }) => text)
  }

  createTakenOver(): DeviceFailure {
    const mode = this.#parts.vehicle.readings.mode?.value
    const message = `${this.#parts.name} was taken over: its mode is ${mode}`
    return new DeviceFailure('taken_over', message, this.look())
  }

  /** Adds the autopilot's own reason to a refusal. */
  addReason(error: unknown): unknown {
    const texts = this.listTexts().slice(-MAX_TEXTS)
    if (!(error instanceof ShoalError) || error.code !== 'conflict' || texts.length === 0)
      return error
    return new ShoalError(error.code, `${error.message} (${texts.join('; ')})`, { cause: error })
  }

  async #perform(
    operation: MavlinkOperation,
    bounds: RunBounds,
    signal: AbortSignal,
  ): Promise<void> {
    const { name, vehicle, exchange, modes } = this.#parts
    const launchAltitude_m = vehicle.readings.launch_altitude_amsl_m?.value
    const adapted = adaptOperation(operation, this.kind, launchAltitude_m)
    if (adapted === undefined)
      throw new ShoalError('conflict', `${name} has not reported the altitude of its launch`)
    this.#requireOwn()
    this.#expectModes(operation, bounds)
    this.mayMove ||= startsMotion(operation, bounds)
    const saved = modes.save()
    // a stop does not wait for the disk
    if (this.mayMove) await saved
    this.#requireOwn()
    const effect = observeEffect(adapted, vehicle, this.kind)
    await this.#log.ask(nameOperation(operation, this.kind), () =>
      exchange.perform(adapted, { signal, ...effect }),
    )
    this.hasArmed ||= armingOf(operation) === true
  }

  /** @throws ShoalError conflict when somebody else has taken over the motion */
  #requireOwn(): void {
    const { name, modes } = this.#parts
    if (modes.isTakenOver && this.mayMove)
      throw new ShoalError('conflict', `${name} was taken over`)
  }

  /** PX4 changes its mode with a take-off and a position; ArduPilot when it is told to. */
  #expectModes(operation: MavlinkOperation, bounds: RunBounds): void {
    const { modes } = this.#parts
    const own = this.#nameMode(operation)
    if (own !== undefined) modes.expect(bounds.modes?.includes(own) ? bounds.modes : [own])
    else if (this.kind.autopilot === 'px4' && startsMotion(operation, bounds))
      modes.expect(bounds.modes ?? [])
  }

  #isWorse(operation: MavlinkOperation): boolean {
    const current = String(this.#parts.vehicle.readings.mode?.value)
    const mode = this.#nameMode(operation)
    return mode !== undefined && isWorse(traitsOf(this.kind), mode, current)
  }

  #mayFollowSilence(next: MavlinkOperation, sinceMs: number): boolean {
    const isHeard = (this.#parts.vehicle.heartbeatAtMs ?? 0) > sinceMs
    const mode = this.#nameMode(next)
    return isHeard && mode !== undefined && mayFollowSilence(traitsOf(this.kind), mode)
  }

  #nameMode(operation: MavlinkOperation): string | undefined {
    const mode = modeOf(operation, this.kind)
    return mode === undefined ? undefined : nameKnownMode(this.kind, mode)
  }
}

const isRefusal = (error: unknown): boolean =>
  error instanceof ShoalError && error.code === 'conflict'
