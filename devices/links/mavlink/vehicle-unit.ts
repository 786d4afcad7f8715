import type { DeviceState } from '../../../shared/wire/device.ts'
import type { LinkContext, LinkedDevice } from '../../device-link.ts'
import type { DeviceProfile } from '../../profile.ts'
import copter from '../../profiles/copter.ts'
import mavlinkVehicle from '../../profiles/mavlink-vehicle.ts'
import plane from '../../profiles/plane.ts'
import rover from '../../profiles/rover.ts'
import sub from '../../profiles/sub.ts'
import type { MavlinkLinkConfig, MavlinkVehicleConfig } from './config.ts'
import type { Frame } from './frame.ts'
import type { MavlinkSender } from './mavlink-sender.ts'
import { ModeFile } from './mode-file.ts'
import { ModeWatch } from './mode-watch.ts'
import { Telemetry } from './telemetry.ts'
import { SILENT_AFTER_MS, Vehicle } from './vehicle.ts'
import { VehicleControl } from './vehicle-control.ts'

const PROFILES = { copter, rover, plane, sub } as const

interface UnitParts {
  deviceId: string
  config: MavlinkVehicleConfig
  link: Pick<MavlinkLinkConfig, 'connection' | 'system_id' | 'request_telemetry'>
  context: Pick<LinkContext, 'now' | 'nowMs' | 'stateDir' | 'logger'>
  sender: MavlinkSender
  /** Aborts when the link ends. */
  ended: AbortSignal
}

/** One configured vehicle: its readings, its control and its telemetry. */
export class VehicleUnit {
  readonly deviceId: string
  readonly config: MavlinkVehicleConfig
  readonly vehicle: Vehicle
  readonly modes: ModeWatch
  readonly control: VehicleControl
  readonly #parts: UnitParts
  readonly #telemetry: Telemetry
  #boots = 0

  constructor(parts: UnitParts) {
    const { deviceId, config, context, sender, ended } = parts
    this.#parts = parts
    this.deviceId = deviceId
    this.config = config
    const ids = { systemId: config.system_id, componentId: config.component_id }
    const vehicle = new Vehicle(ids, context)
    this.vehicle = vehicle
    const { now, nowMs, stateDir, logger } = context
    this.modes = new ModeWatch({ vehicle, file: new ModeFile(stateDir, deviceId), logger })
    this.control = new VehicleControl({
      ...{ deviceId, vehicle, name: config.name, limits: config, modes: this.modes, ended },
      ...{ now, nowMs },
      profile: () => this.profile,
      readState: () => this.readState(),
      send: (operation, attempt) => sender.sendOperation(vehicle, operation, attempt),
      requestHeartbeat: () => sender.requestHeartbeat(vehicle),
    })
    this.#telemetry = new Telemetry({
      requestInterval: (id, interval_us) => sender.requestInterval(vehicle, id, interval_us),
      requestGroup: (group, rate_hz) => sender.requestGroup(vehicle, group, rate_hz),
    })
  }

  /**
   * Profile by the heartbeat; before the first one, that of the configuration, and without one that of
   * a vehicle that can only be read.
   */
  get profile(): DeviceProfile {
    const { kind, heartbeatAtMs } = this.vehicle
    if (kind !== undefined) return PROFILES[kind.vehicleClass]
    const { profile } = this.config
    return heartbeatAtMs === undefined && profile !== undefined ? PROFILES[profile] : mavlinkVehicle
  }

  /** Newest readings of the properties that its profile has. */
  readState(): DeviceState {
    const { seenAt, readings } = this.vehicle
    const { properties } = this.profile
    const own = Object.entries(readings).filter(([name]) => Object.hasOwn(properties, name))
    return { device_id: this.deviceId, seen_at: seenAt, readings: Object.fromEntries(own) }
  }

  /** Takes a frame of the pinned sender. */
  take(frame: Frame): void {
    const wasKnown = this.vehicle.kind !== undefined
    this.#telemetry.note(frame.messageId, this.#parts.context.nowMs())
    this.control.take(frame, this.#parts.link.system_id)
    const hasRebooted = this.vehicle.boots !== this.#boots
    this.#boots = this.vehicle.boots
    if (hasRebooted) this.#telemetry.restart()
    if (hasRebooted || !wasKnown) this.requestTelemetry()
  }

  /** Asks for the messages that are missing. */
  requestTelemetry(): void {
    const { kind, isAvailable } = this.vehicle
    if (!this.#parts.link.request_telemetry || !isAvailable || kind === undefined) return
    this.#telemetry.request(kind.autopilot, this.#parts.context.nowMs())
  }

  /** `fault` is the reason why nothing can arrive at the link. */
  describe(fault: string | undefined): LinkedDevice {
    const { name, site, envelope } = this.config
    const { isAvailable } = this.vehicle
    const mismatch = this.#findMismatch()
    const reason = isAvailable ? mismatch : (fault ?? describeSilence(this.vehicle))
    return {
      deviceId: this.deviceId,
      name,
      profile: this.profile,
      ...(site === undefined ? {} : { site }),
      available: isAvailable,
      ...(reason === undefined ? {} : { reason }),
      writable: mismatch === undefined,
      options: this.#listOptions(),
      ...(envelope === undefined ? {} : { envelope }),
    }
  }

  /** Addressing for the plans; what the vehicle is belongs to it, so that another one voids them. */
  #listOptions(): LinkedDevice['options'] {
    const { system_id, component_id, return_altitude_m, return_speed_m_s } = this.config
    const { kind, readings } = this.vehicle
    return {
      connection: this.#parts.link.connection,
      system_id,
      component_id,
      return_altitude_m,
      return_speed_m_s,
      ...(kind !== undefined && {
        vehicle_type: readings.vehicle_type?.value ?? null,
        autopilot: kind.autopilot,
        vehicle_class: kind.vehicleClass,
        can_hover: kind.canHover,
      }),
    }
  }

  /** Reason why the vehicle accepts no commands. */
  #findMismatch(): string | undefined {
    const { kind, heartbeatAtMs, readings } = this.vehicle
    const { profile } = this.config
    if (heartbeatAtMs === undefined) return undefined
    const { vehicle_type, autopilot } = readings
    const found = `it is a ${vehicle_type?.value} with ${autopilot?.value}`
    if (kind === undefined) return `${found}, which can only be read`
    if (profile === undefined || kind.vehicleClass === profile) return undefined
    return `${found}, and its configuration names the profile ${profile}`
  }
}

const describeSilence = ({ heartbeatAge_ms }: Vehicle): string =>
  heartbeatAge_ms === undefined
    ? 'no heartbeat has arrived yet'
    : `no heartbeat for ${Math.round(Math.max(heartbeatAge_ms, SILENT_AFTER_MS) / 1000)} s`
