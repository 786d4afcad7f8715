import { ShoalError } from '../../../shared/errors.ts'
import type { DeviceState, EstopBehaviour } from '../../../shared/wire/device.ts'
import type { DeviceLink, ExecuteContext, LinkContext, LinkedDevice } from '../../device-link.ts'
import type { Json } from '../../profile.ts'
import type { SimLinkConfig } from './config.ts'
import type { Activity } from './machine.ts'
import { SimOperation } from './operations.ts'
import { SIM_PROFILES } from './profiles.ts'
import type { SimUnit } from './unit.ts'
import { SimWorld } from './world.ts'

/** Longest wait for the confirmation of a stop. */
const STOP_TIMEOUT_MS = 400
/** Longest real time that one tick makes up for, after the process was suspended. */
const MAX_TICK_MS = 1000

/** Link to simulated devices. Their time passes by `advance`, which `start` calls at each tick. */
export class SimLink implements DeviceLink {
  readonly kind = 'sim'
  readonly world: SimWorld
  readonly #config: SimLinkConfig
  readonly #context: Pick<LinkContext, 'now' | 'nowMs'>
  readonly #listeners = new Set<() => void>()
  readonly #units: ReadonlyMap<string, SimUnit>
  readonly #devices: readonly LinkedDevice[]
  /** Ends what runs; belongs to the newest start. */
  #end = new AbortController()

  constructor(config: SimLinkConfig, context: Pick<LinkContext, 'cellId' | 'now' | 'nowMs'>) {
    this.#config = config
    this.#context = context
    this.world = new SimWorld(context.cellId, config)
    this.#units = new Map(this.world.units.map(unit => [unit.deviceId, unit]))
    this.#devices = this.world.units.map(toLinkedDevice)
    this.#observe()
  }

  start(signal: AbortSignal): void {
    const { tick_ms, time_factor } = this.#config
    const over = new AbortController()
    this.#end = over
    let before = this.#context.nowMs()
    const timer = setInterval(() => {
      const now = this.#context.nowMs()
      this.advance(Math.min(now - before, MAX_TICK_MS) * time_factor)
      before = now
    }, tick_ms)
    const end = (): void => {
      clearInterval(timer)
      over.abort(new ShoalError('cell_unavailable', 'the simulation has ended'))
    }
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  }

  /** Lets simulated time pass, and takes readings after it. */
  advance(milliseconds: number): void {
    this.world.advance(milliseconds)
    this.#observe()
  }

  list(): readonly LinkedDevice[] {
    return this.#devices
  }

  readState(deviceId: string): DeviceState | undefined {
    return this.#units.get(deviceId)?.state
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  async execute(
    deviceId: string,
    operations: readonly Json[],
    context: ExecuteContext,
  ): Promise<Json> {
    const unit = this.#requireUnit(deviceId)
    const parsed = operations.map(parseOperation)
    const signal = AbortSignal.any([context.signal, this.#end.signal])
    for (const operation of parsed) await this.#perform(unit, operation, { ...context, signal })
    this.#observe()
    const { readings } = unit.state
    return Object.fromEntries(Object.entries(readings).map(([name, { value }]) => [name, value]))
  }

  async stop(deviceId: string, behaviour: EstopBehaviour): Promise<void> {
    const unit = this.#requireUnit(deviceId)
    if (unit.isNextLost() || unit.faults.reply_delay_ms > STOP_TIMEOUT_MS)
      throw new ShoalError(
        'request_timeout',
        `${unit.config.name} did not confirm the stop within ${STOP_TIMEOUT_MS} ms`,
      )
    unit.halt(behaviour)
    this.#observe()
  }

  /** Waits until a device has done an operation; an abort brings it to rest first. */
  async #perform(
    unit: SimUnit,
    operation: SimOperation,
    { signal, report }: ExecuteContext,
  ): Promise<void> {
    await this.#waitForArrival(unit, signal)
    const activity = unit.begin(operation)
    try {
      await this.world.waitUntil(() => {
        report({ percent: activity.percent?.() ?? null })
        return !unit.isCurrent(activity) || activity.getState() !== 'running'
      }, signal)
    } catch (error) {
      await this.#bringToRest(unit, activity)
      throw error
    }
    if (unit.isCurrent(activity) && activity.getState() === 'done') return
    throw new ShoalError('conflict', `${unit.config.name} was stopped before it had finished`)
  }

  #waitForArrival(unit: SimUnit, signal: AbortSignal): Promise<void> {
    const isLost = unit.isNextLost()
    const arrival_ms = this.world.elapsed_ms + unit.faults.reply_delay_ms
    return this.world.waitUntil(() => !isLost && this.world.elapsed_ms >= arrival_ms, signal)
  }

  /** A device that something newer has taken over is left alone. */
  async #bringToRest(unit: SimUnit, activity: Activity): Promise<void> {
    if (!unit.isCurrent(activity)) return
    unit.halt('hold')
    this.#observe()
    await this.world.waitUntil(() => unit.isAtRest(), this.#end.signal).catch(() => {})
  }

  #requireUnit(deviceId: string): SimUnit {
    const unit = this.#units.get(deviceId)
    if (unit !== undefined) return unit
    throw new ShoalError('not_found', `no simulated device has the id ${deviceId}`)
  }

  #observe(): void {
    const now = this.#context.now()
    for (const unit of this.world.units) unit.observe(now)
    for (const listener of this.#listeners) listener()
  }
}

const parseOperation = (operation: Json): SimOperation => {
  const parsed = SimOperation.safeParse(operation)
  if (parsed.success) return parsed.data
  throw new ShoalError('invalid_request', 'no simulated device has this operation')
}

const toLinkedDevice = ({ deviceId, config }: SimUnit): LinkedDevice => ({
  deviceId,
  name: config.name,
  profile: SIM_PROFILES[config.profile],
  ...(config.site === undefined ? {} : { site: config.site }),
  available: true,
  writable: true,
  options: config.profile === 'sim-rover' ? { dock: { x_m: config.x_m, y_m: config.y_m } } : {},
  ...(config.envelope === undefined ? {} : { envelope: config.envelope }),
})
