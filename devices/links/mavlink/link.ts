import { ShoalError } from '../../../shared/errors.ts'
import { firstIssue } from '../../../shared/first-issue.ts'
import type { DeviceState, EstopBehaviour } from '../../../shared/wire/device.ts'
import type { DeviceOutcome } from '../../../shared/wire/device-outcome.ts'
import { createDeviceId } from '../../device-id.ts'
import type {
  DeviceLink,
  ExecuteContext,
  Execution,
  LinkContext,
  LinkedDevice,
  StopContext,
} from '../../device-link.ts'
import type { Json } from '../../profile.ts'
import type { MavlinkLinkConfig, MavlinkVehicleConfig } from './config.ts'
import { parseConnection } from './connection.ts'
import type { Frame } from './frame.ts'
import { MavlinkBounds } from './goal.ts'
import { MavlinkSender } from './mavlink-sender.ts'
import { MavlinkSocket } from './mavlink-socket.ts'
import { parseOperation } from './operations.ts'
import type { Peer, Vehicle } from './vehicle.ts'
import { VehicleUnit } from './vehicle-unit.ts'

/** Rest between two reports of new readings; a running motion is checked at each of them. */
const REPORT_MS = 250
const HEARTBEAT_MS = 1000
/** Rest between two looks for messages that are missing. */
const TELEMETRY_MS = 500

/** Link to the vehicles that send MAVLink to one UDP port. */
export class MavlinkLink implements DeviceLink {
  readonly kind = 'mavlink'
  readonly #config: MavlinkLinkConfig
  readonly #context: LinkContext
  readonly #units: readonly VehicleUnit[]
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
      countVehicles: peer => this.#units.filter(({ vehicle }) => vehicle.isPeer(peer)).length,
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
      setInterval(() => this.#requestTelemetry(), TELEMETRY_MS),
      ...(this.#config.heartbeat ? [setInterval(() => this.#beat(), HEARTBEAT_MS)] : []),
    ]
    const end = (): void => {
      for (const timer of timers) clearInterval(timer)
      this.#end.abort(new ShoalError('cell_unavailable', 'the link to the vehicles has ended'))
    }
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
    for (const { modes } of this.#units) void modes.load()
    void this.#socket.run(ending)
  }

  list(): readonly LinkedDevice[] {
    return this.#units.map(unit => unit.describe(this.#fault))
  }

  readState(deviceId: string): DeviceState | undefined {
    return this.#units.find(each => each.deviceId === deviceId)?.readState()
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
    const { config, control } = this.#requireUnit(deviceId)
    const parsed = operations.map(parseOperation)
    const bounded = parseBounds(bounds)
    const all = [...parsed, ...(bounded.fallbacks ?? [])]
    if (all.some(({ fields }) => fields.target_system !== config.system_id))
      throw new ShoalError('invalid_request', `an operation is not for ${config.name}`)
    return control.execute(parsed, bounded, { signal, report })
  }

  async stop(
    deviceId: string,
    behaviour: EstopBehaviour,
    context?: StopContext,
  ): Promise<DeviceOutcome> {
    return this.#requireUnit(deviceId).control.stop(behaviour, context)
  }

  #createUnit(config: MavlinkVehicleConfig): VehicleUnit {
    const { cellId } = this.#context
    return new VehicleUnit({
      deviceId: createDeviceId(`${cellId}:${config.name}`),
      config,
      link: this.#config,
      context: this.#context,
      sender: this.#sender,
      ended: this.#end.signal,
    })
  }

  #take(frame: Frame, peer: Peer): void {
    const unit = this.#units.find(({ vehicle }) => vehicle.isOwn(frame))
    if (unit === undefined) return
    const { vehicle } = unit
    if (vehicle.isPeer(peer)) unit.take(frame)
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
    for (const { vehicle } of this.#units) this.#sender.sendHeartbeat(vehicle)
  }

  #requestTelemetry(): void {
    for (const unit of this.#units) unit.requestTelemetry()
  }

  #requireUnit(deviceId: string): VehicleUnit {
    const unit = this.#units.find(each => each.deviceId === deviceId)
    if (unit !== undefined) return unit
    throw new ShoalError('not_found', `this link has no device ${deviceId}`)
  }
}

/** @throws ShoalError invalid_request for bounds that no plan of this link has */
const parseBounds = (bounds: ExecuteContext['bounds']): MavlinkBounds => {
  const parsed = MavlinkBounds.safeParse(bounds)
  if (parsed.success) return parsed.data
  throw new ShoalError('invalid_request', `bounds: ${firstIssue(parsed.error).message}`)
}
