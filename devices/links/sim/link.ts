import { ShoalError } from '../../../shared/errors.ts'
import type { DeviceState, EstopBehaviour } from '../../../shared/wire/device.ts'
import type { DeviceOutcome, Seen } from '../../../shared/wire/device-outcome.ts'
import { AskedLog } from '../../asked-log.ts'
import { toDeviceFailure } from '../../device-failure.ts'
import type {
  DeviceLink,
  ExecuteContext,
  Execution,
  LinkContext,
  LinkedDevice,
} from '../../device-link.ts'
import type { Json } from '../../profile.ts'
import { RestObserver } from '../../rest-observer.ts'
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

/** Operations that run on a device, and what is noted of them. */
interface SimRun {
  unit: SimUnit
  log: AskedLog
  observer: RestObserver
}

/** Link to simulated devices. Their time passes by `advance`, which `start` calls at each tick. */
export class SimLink implements DeviceLink {
  readonly kind = 'sim'
  readonly world: SimWorld
  readonly #config: SimLinkConfig
  readonly #context: Pick<LinkContext, 'now' | 'nowMs'>
  readonly #listeners = new Set<() => void>()
  readonly #units: ReadonlyMap<string, SimUnit>
  /** Ends what runs; belongs to the newest start. */
  #end = new AbortController()

  constructor(config: SimLinkConfig, context: Pick<LinkContext, 'cellId' | 'now' | 'nowMs'>) {
    this.#config = config
    this.#context = context
    this.world = new SimWorld(context.cellId, config)
    this.#units = new Map(this.world.units.map(unit => [unit.deviceId, unit]))
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
    return this.world.units.map(toLinkedDevice)
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
  ): Promise<Execution> {
    const unit = this.#requireUnit(deviceId)
    const parsed = operations.map(parseOperation)
    const signal = AbortSignal.any([context.signal, this.#end.signal])
    const log = new AskedLog()
    const observer = this.#createObserver(unit, behaviourOf(parsed))
    try {
      for (const operation of parsed)
        await this.#perform({ unit, log, observer }, operation, { ...context, signal })
    } catch (error) {
      throw toDeviceFailure(error, { asked: log.asked, seen: observer.look() })
    }
    this.#observe()
    const { readings } = unit.state
    const values = Object.entries(readings).map(([name, { value }]) => [name, value])
    const seen = toReached(observer.look(), parsed)
    return { asked: log.asked, seen, result: Object.fromEntries(values) }
  }

  async stop(deviceId: string, behaviour: EstopBehaviour): Promise<DeviceOutcome> {
    const unit = this.#requireUnit(deviceId)
    const log = new AskedLog()
    const observer = this.#createObserver(unit, behaviour)
    try {
      await log.ask(`halt ${behaviour}`, () => this.#halt(unit, behaviour))
    } catch (error) {
      throw toDeviceFailure(error, { asked: log.asked, seen: observer.look() })
    }
    this.#observe()
    return { asked: log.asked, seen: observer.look() }
  }

  #halt(unit: SimUnit, behaviour: EstopBehaviour): string {
    if (unit.isNextLost() || unit.faults.reply_delay_ms > STOP_TIMEOUT_MS)
      throw new ShoalError(
        'request_timeout',
        `${unit.config.name} did not confirm the stop within ${STOP_TIMEOUT_MS} ms`,
      )
    unit.halt(behaviour)
    return 'accepted'
  }

  /** Waits until a device has done an operation; an abort brings it to rest first. */
  async #perform(
    run: SimRun,
    operation: SimOperation,
    { signal, report }: ExecuteContext,
  ): Promise<void> {
    const { unit, log } = run
    let activity: Activity | undefined
    await log.ask(nameOperation(operation), async () => {
      await this.#waitForArrival(unit, signal)
      activity = unit.begin(operation)
      return 'accepted'
    })
    if (activity === undefined) return
    const begun = activity
    try {
      await this.world.waitUntil(() => {
        report({ percent: begun.percent?.() ?? null })
        return !unit.isCurrent(begun) || begun.getState() !== 'running'
      }, signal)
    } catch (error) {
      await this.#bringToRest(run, begun)
      throw error
    }
    if (unit.isCurrent(begun) && begun.getState() === 'done') return
    throw new ShoalError('conflict', `${unit.config.name} was stopped before it had finished`)
  }

  #waitForArrival(unit: SimUnit, signal: AbortSignal): Promise<void> {
    const isLost = unit.isNextLost()
    const arrival_ms = this.world.elapsed_ms + unit.faults.reply_delay_ms
    return this.world.waitUntil(() => !isLost && this.world.elapsed_ms >= arrival_ms, signal)
  }

  /**
   * Tells a device to rest, once; one that something newer has taken over is left alone. Returns
   * when it rests or the stop was lost.
   */
  async #bringToRest({ unit, log, observer }: SimRun, activity: Activity): Promise<void> {
    if (!unit.isCurrent(activity)) return
    observer.restart()
    const isSent = await Promise.resolve(log.ask('halt hold', () => this.#halt(unit, 'hold'))).then(
      () => true,
      () => false,
    )
    this.#observe()
    if (!isSent) return
    await this.world.waitUntil(() => unit.isAtRest(), this.#end.signal).catch(() => {})
    this.#observe()
  }

  #createObserver(unit: SimUnit, behaviour: EstopBehaviour): RestObserver {
    const { deviceId, config } = unit
    const readState = (): DeviceState => unit.state
    const { now } = this.#context
    const profile = SIM_PROFILES[config.profile]
    return new RestObserver({ deviceId, profile, behaviour, readState, now })
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

const nameOperation = (operation: SimOperation): string => {
  if (operation.op === 'halt') return `halt ${operation.behaviour}`
  return operation.op === 'switch' ? `switch ${operation.on ? 'on' : 'off'}` : operation.op
}

const behaviourOf = (operations: readonly SimOperation[]): EstopBehaviour =>
  operations.some(one => one.op === 'halt' && one.behaviour === 'land') ? 'land' : 'hold'

/** A simulated device tells when its goal is reached; a halt is observed like that of any device. */
const toReached = (seen: Seen, operations: readonly SimOperation[]): Seen =>
  operations.some(({ op }) => op === 'halt') || seen.at === null
    ? seen
    : { ...seen, state: 'reached' }

/** A device whose sensors have reported nothing is away: nothing is known of it. */
const toLinkedDevice = ({ deviceId, config, hasReported }: SimUnit): LinkedDevice => ({
  deviceId,
  name: config.name,
  profile: SIM_PROFILES[config.profile],
  ...(config.site === undefined ? {} : { site: config.site }),
  available: hasReported,
  ...(!hasReported && { reason: 'its sensors have not reported yet' }),
  writable: true,
  options: config.profile === 'sim-rover' ? { dock: { x_m: config.x_m, y_m: config.y_m } } : {},
  ...(config.envelope === undefined ? {} : { envelope: config.envelope }),
})
