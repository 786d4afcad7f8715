import { setTimeout as sleep } from 'node:timers/promises'
import { ShoalError } from '../../../shared/errors.ts'
import type { DeviceState, EstopBehaviour } from '../../../shared/wire/device.ts'
import { type DeviceOutcome, NOTHING_SEEN } from '../../../shared/wire/device-outcome.ts'
import { AskedLog } from '../../asked-log.ts'
import { toDeviceFailure } from '../../device-failure.ts'
import { createDeviceId } from '../../device-id.ts'
import type {
  DeviceLink,
  ExecuteContext,
  Execution,
  LinkContext,
  LinkedDevice,
} from '../../device-link.ts'
import type { DeviceProfile, Json } from '../../profile.ts'
import robot from '../../profiles/ros2-robot.ts'
import { RestObserver } from '../../rest-observer.ts'
import { createEnvironment, type Ros2LinkConfig } from './config.ts'
import { parseOperation } from './operations.ts'
import { RobotUnit } from './robot-unit.ts'
import { Ros2Cli } from './ros2-cli.ts'

const LIST_TIMEOUT_MS = 10_000

/** Link to robots by the command line tool of ROS 2. */
export class Ros2Link implements DeviceLink {
  readonly kind = 'ros2'
  readonly #config: Ros2LinkConfig
  readonly #context: LinkContext
  readonly #cli: Ros2Cli
  readonly #units: readonly RobotUnit[]
  readonly #listeners = new Set<() => void>()
  readonly #end = new AbortController()

  constructor(config: Ros2LinkConfig, context: LinkContext) {
    this.#config = config
    this.#context = context
    this.#cli = new Ros2Cli(config.command, createEnvironment(config, context.env))
    this.#units = config.robots.map(
      each => new RobotUnit(createDeviceId(`${context.cellId}:${each.name}`), each, this.#cli),
    )
  }

  start(signal: AbortSignal): void {
    const end = (): void =>
      this.#end.abort(new ShoalError('cell_unavailable', 'the link to the robots has ended'))
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
    void this.#observe(this.#end.signal)
  }

  list(): readonly LinkedDevice[] {
    return this.#units.map(toLinkedDevice)
  }

  readState(deviceId: string): DeviceState | undefined {
    return this.#units.find(each => each.deviceId === deviceId)?.state
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  async execute(
    deviceId: string,
    operations: readonly Json[],
    { signal }: ExecuteContext,
  ): Promise<Execution> {
    const unit = this.#requireUnit(deviceId)
    const parsed = operations.map(parseOperation)
    const limited = AbortSignal.any([signal, this.#end.signal])
    let result: Json = null
    const outcome = await this.#observeWork(unit, async log => {
      result = await unit.control.execute(parsed, log, limited)
    })
    return { ...outcome, result }
  }

  async stop(deviceId: string, behaviour: EstopBehaviour): Promise<DeviceOutcome> {
    const unit = this.#requireUnit(deviceId)
    if (behaviour === 'none') return NOTHING_SEEN
    return this.#observeWork(unit, log => unit.control.stop(log))
  }

  /** Does something with a robot. Whether it resolves or rejects, it says what was seen since. */
  async #observeWork(
    unit: RobotUnit,
    work: (log: AskedLog) => Promise<void>,
  ): Promise<DeviceOutcome> {
    const { deviceId } = unit
    const { now } = this.#context
    const profile = profileOf(unit)
    const readState = () => unit.state
    const observer = new RestObserver({ deviceId, profile, behaviour: 'hold', readState, now })
    const log = new AskedLog()
    try {
      await work(log)
    } catch (error) {
      throw toDeviceFailure(error, { asked: log.asked, seen: observer.look() })
    }
    return { asked: log.asked, seen: observer.look() }
  }

  /** Reads the states of all robots, round by round. */
  async #observe(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#observeOnce(signal)
      for (const listener of this.#listeners) listener()
      await sleep(this.#config.poll_seconds * 1000, undefined, { signal }).catch(() => {})
    }
  }

  async #observeOnce(signal: AbortSignal): Promise<void> {
    try {
      const options = { signal, timeoutMs: LIST_TIMEOUT_MS }
      const listed = await this.#cli.run(['topic', 'list'], options)
      const topics = new Set(listed.split('\n').map(line => line.trim()))
      await Promise.all(this.#units.map(unit => unit.observe(topics, this.#context.now, signal)))
    } catch (error) {
      for (const unit of this.#units) unit.fault = (error as Error).message
    }
  }

  #requireUnit(deviceId: string): RobotUnit {
    const unit = this.#units.find(each => each.deviceId === deviceId)
    if (unit !== undefined) return unit
    throw new ShoalError('not_found', `no robot of this link has the id ${deviceId}`)
  }
}

/** Profile of a robot. Only an odometer shows whether it rests. */
const profileOf = ({ config }: Pick<RobotUnit, 'config'>): DeviceProfile => {
  const { rest, ...blind } = robot
  return config.pose === undefined ? blind : robot
}

const toLinkedDevice = (unit: RobotUnit): LinkedDevice => {
  const { deviceId, config, fault } = unit
  const { name, site, drive, read_topics, envelope } = config
  return {
    deviceId,
    name,
    profile: profileOf(unit),
    ...(site === undefined ? {} : { site }),
    available: fault === undefined,
    ...(fault === undefined ? {} : { reason: fault }),
    writable: true,
    options: { drive, read_topics },
    ...(envelope === undefined ? {} : { envelope }),
  }
}
