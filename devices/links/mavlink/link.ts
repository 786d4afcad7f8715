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
import type { Json } from '../../profile.ts'
import copter from '../../profiles/copter.ts'
import { RestObserver } from '../../rest-observer.ts'
import type { MavlinkLinkConfig, MavlinkVehicleConfig } from './config.ts'
import { parseConnection } from './connection.ts'
import type { Frame } from './frame.ts'
import { MavlinkSender } from './mavlink-sender.ts'
import { MavlinkSocket } from './mavlink-socket.ts'
import { isLanding, MavlinkGoal, type MavlinkOperation, parseOperation } from './operations.ts'
import { type Peer, Vehicle } from './vehicle.ts'
import { VehicleControl } from './vehicle-control.ts'

/** Rest between two reports of new readings; a running motion is checked at each of them. */
const REPORT_MS = 250
const HEARTBEAT_MS = 1000
const ASK_LAUNCH_MS = 10_000

interface Unit {
  deviceId: string
  config: MavlinkVehicleConfig
  control: VehicleControl
}

/** Link to the vehicles that send MAVLink to one UDP port. */
export class MavlinkLink implements DeviceLink {
  readonly kind = 'mavlink'
  readonly #config: MavlinkLinkConfig
  readonly #context: LinkContext
  readonly #units: readonly Unit[]
  readonly #socket: MavlinkSocket
  readonly #sender: MavlinkSender
  readonly #listeners = new Set<() => void>()
  readonly #end = new AbortController()
  /** System ids whose first sender is being checked against the scope. */
  readonly #pinning = new Set<number>()
  #fault: string | undefined = 'the link has not started'

  constructor(config: MavlinkLinkConfig, context: LinkContext) {
    this.#config = config
    this.#context = context
    this.#socket = new MavlinkSocket({
      resolve: async () => {
        const { host, port } = parseConnection(config.connection) ?? { host: '', port: 0 }
        return { address: await context.resolveHost(host, port), port }
      },
      nowMs: context.nowMs,
      onFrame: (frame, peer) => this.#take(frame, peer),
      onFault: reason => {
        this.#fault = reason
      },
    })
    this.#sender = new MavlinkSender(this.#socket, config.system_id)
    this.#units = config.vehicles.map(vehicle => this.#createUnit(vehicle))
  }

  start(signal: AbortSignal): void {
    const ending = AbortSignal.any([signal, this.#end.signal])
    const timers = [
      setInterval(() => this.#report(), REPORT_MS),
      ...(this.#config.heartbeat
        ? [
            setInterval(() => this.#beat(), HEARTBEAT_MS),
            setInterval(() => this.#askLaunches(), ASK_LAUNCH_MS),
          ]
        : []),
    ]
    const end = (): void => {
      for (const timer of timers) clearInterval(timer)
      this.#end.abort(new ShoalError('cell_unavailable', 'the link to the vehicles has ended'))
    }
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
    void this.#socket.run(ending)
  }

  list(): readonly LinkedDevice[] {
    return this.#units.map(unit => this.#describe(unit))
  }

  readState(deviceId: string): DeviceState | undefined {
    const vehicle = this.#units.find(each => each.deviceId === deviceId)?.control.vehicle
    if (vehicle === undefined) return undefined
    return { device_id: deviceId, seen_at: vehicle.seenAt, readings: vehicle.readings }
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  async execute(
    deviceId: string,
    operations: readonly Json[],
    { signal, report, bounds }: ExecuteContext,
  ): Promise<Execution> {
    const unit = this.#requireUnit(deviceId)
    const { config, control } = unit
    const parsed = operations.map(parseOperation)
    if (parsed.some(({ fields }) => fields.target_system !== config.system_id))
      throw new ShoalError('invalid_request', `an operation is not for ${config.name}`)
    const goal = MavlinkGoal.safeParse(bounds.goal)
    const limited = AbortSignal.any([signal, this.#end.signal])
    let result: Json = null
    const { asked, seen } = await this.#observe(unit, behaviourOf(parsed), async log => {
      result = await control.execute(parsed, goal.data, { log, signal: limited, report })
    })
    return { asked, seen: goal.success ? { ...seen, state: 'reached' } : seen, result }
  }

  async stop(deviceId: string, behaviour: EstopBehaviour): Promise<DeviceOutcome> {
    const unit = this.#requireUnit(deviceId)
    if (behaviour === 'none') return NOTHING_SEEN
    return this.#observe(unit, behaviour, log => unit.control.stop(behaviour, log))
  }

  /** Does something with a vehicle. Whether it resolves or rejects, it says what was seen since. */
  async #observe(
    { deviceId }: Unit,
    behaviour: EstopBehaviour,
    work: (log: AskedLog) => Promise<void>,
  ): Promise<DeviceOutcome> {
    const { now } = this.#context
    const readState = () => this.readState(deviceId)
    const observer = new RestObserver({ deviceId, profile: copter, behaviour, readState, now })
    const log = new AskedLog()
    try {
      await work(log)
    } catch (error) {
      throw toDeviceFailure(error, { asked: log.asked, seen: observer.look() })
    }
    return { asked: log.asked, seen: observer.look() }
  }

  #createUnit(config: MavlinkVehicleConfig): Unit {
    const { cellId, now, nowMs } = this.#context
    const ids = { systemId: config.system_id, componentId: config.component_id }
    const vehicle = new Vehicle(ids, { now, nowMs })
    const send = (operation: MavlinkOperation, attempt: number): void =>
      this.#sender.sendOperation(vehicle, operation, attempt)
    const control = new VehicleControl({ vehicle, name: config.name, send, now })
    return { deviceId: createDeviceId(`${cellId}:${config.name}`), config, control }
  }

  #describe({ deviceId, config, control }: Unit): LinkedDevice {
    const { name, system_id, component_id, site, envelope } = config
    const { return_altitude_m, return_speed_m_s } = config
    const { isAvailable } = control.vehicle
    return {
      deviceId,
      name,
      profile: copter,
      ...(site === undefined ? {} : { site }),
      available: isAvailable,
      ...(isAvailable ? {} : { reason: this.#fault ?? describeSilence(control.vehicle) }),
      writable: true,
      options: {
        connection: this.#config.connection,
        system_id,
        component_id,
        return_altitude_m,
        return_speed_m_s,
      },
      ...(envelope === undefined ? {} : { envelope }),
    }
  }

  #take(frame: Frame, peer: Peer): void {
    const unit = this.#units.find(({ control }) => control.vehicle.isOwn(frame))
    if (unit === undefined) return
    const { vehicle } = unit.control
    if (vehicle.isPeer(peer)) unit.control.take(frame, this.#config.system_id)
    else if (vehicle.canPin(frame)) void this.#pin(vehicle, peer)
  }

  /** Pins the sender of a heartbeat to its vehicle, if it is in the scope of the cell. */
  async #pin(vehicle: Vehicle, peer: Peer): Promise<void> {
    const { systemId } = vehicle.ids
    if (this.#pinning.has(systemId)) return
    this.#pinning.add(systemId)
    try {
      await this.#context.resolveHost(peer.address, peer.port)
      vehicle.pin(peer)
      if (this.#config.heartbeat) this.#sender.requestLaunch(vehicle)
      this.#fault = undefined
    } catch (error) {
      this.#fault = `a sender was refused: ${(error as Error).message}`
    } finally {
      this.#pinning.delete(systemId)
    }
  }

  #report(): void {
    for (const listener of this.#listeners) listener()
  }

  #beat(): void {
    for (const { control } of this.#units) this.#sender.sendHeartbeat(control.vehicle)
  }

  #askLaunches(): void {
    for (const { control } of this.#units) this.#sender.requestLaunch(control.vehicle)
  }

  #requireUnit(deviceId: string): Unit {
    const unit = this.#units.find(each => each.deviceId === deviceId)
    if (unit !== undefined) return unit
    throw new ShoalError('not_found', `no vehicle of this link has the id ${deviceId}`)
  }
}

const behaviourOf = (operations: readonly MavlinkOperation[]): EstopBehaviour =>
  operations.some(isLanding) ? 'land' : 'hold'

const describeSilence = ({ heartbeatAge_ms: age_ms }: Vehicle): string =>
  age_ms === undefined
    ? 'no heartbeat has arrived yet'
    : `no heartbeat for ${Math.floor(age_ms / 1000)} s`
