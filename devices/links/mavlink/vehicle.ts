import type { DeviceState, PropertyValue } from '../../../shared/wire/device.ts'
import type { Frame } from './frame.ts'
import { LossMeter } from './loss-meter.ts'
import { decodePayload, type Message } from './message.ts'
import { ATTITUDE, GLOBAL_POSITION_INT, HEARTBEAT } from './messages.ts'
import { isAutopilot } from './names.ts'
import { PositionTrust } from './position-trust.ts'
import { readFrame } from './readings.ts'
import { SYSTEM_TIME } from './status-messages.ts'
import { findVehicleKind, type VehicleKind } from './vehicle-kind.ts'

/** Sender of frames. */
export interface Peer {
  address: string
  port: number
}

/** Silence after which a vehicle counts as away: three heartbeats at 1 Hz, and some delay. */
export const SILENT_AFTER_MS = 3500
/** Silence after which another sender may take the place of the pinned one. */
const UNPIN_AFTER_MS = 10_000

/** A clock that goes back by more than this belongs to a vehicle that has restarted. */
const REBOOT_MS = 3000
const CLOCKED: readonly Message[] = [
  SYSTEM_TIME as Message,
  GLOBAL_POSITION_INT as Message,
  ATTITUDE as Message,
]

interface VehicleIds {
  systemId: number
  componentId: number
}

interface Clocks {
  /** Unix milliseconds. */
  now: () => number
  /** Monotonic milliseconds. */
  nowMs: () => number
}

/** Newest readings of one vehicle, from the frames of the sender that is pinned to it. */
export class Vehicle {
  readonly ids: VehicleIds
  readonly #clocks: Clocks
  readonly #loss = new LossMeter()
  readonly #trust: PositionTrust
  readonly #readings: DeviceState['readings'] = {}
  #peer: Peer | undefined
  #pinnedAtMs = 0
  #heartbeatAtMs: number | undefined
  #seenAt: number | null = null
  #version: 1 | 2 = 2
  #kind: VehicleKind | undefined
  #customMode: number | undefined
  #bootMs = 0
  #boots = 0

  constructor(ids: VehicleIds, clocks: Clocks) {
    this.ids = ids
    this.#clocks = clocks
    this.#trust = new PositionTrust(clocks.nowMs)
  }

  /** Sender that is pinned: the first one that sent a heartbeat of this autopilot. */
  get peer(): Peer | undefined {
    return this.#peer
  }

  /** Age of the newest heartbeat in milliseconds; undefined before the first. */
  get heartbeatAge_ms(): number | undefined {
    return this.#heartbeatAtMs === undefined
      ? undefined
      : this.#clocks.nowMs() - this.#heartbeatAtMs
  }

  /** Vehicle named by the newest heartbeat; undefined before it, and for a read-only vehicle. */
  get kind(): VehicleKind | undefined {
    return this.#kind
  }

  /** Mode of the newest heartbeat, as its number. */
  get customMode(): number | undefined {
    return this.#customMode
  }

  /** Number of restarts, seen as a clock that went back; a restarted vehicle sends nothing unasked. */
  get boots(): number {
    return this.#boots
  }

  /** Monotonic time of the newest heartbeat; undefined before the first. */
  get heartbeatAtMs(): number | undefined {
    return this.#heartbeatAtMs
  }

  /** Version of MAVLink that the vehicle speaks. */
  get version(): 1 | 2 {
    return this.#version
  }

  get isAvailable(): boolean {
    return (this.heartbeatAge_ms ?? Number.POSITIVE_INFINITY) < SILENT_AFTER_MS
  }

  /** True when the frame is a heartbeat of this autopilot, and no other sender is pinned. */
  canPin(frame: Frame): boolean {
    return !this.#isPinned && this.isOwn(frame) && isAutopilotBeat(frame)
  }

  pin(peer: Peer): void {
    this.#peer = peer
    this.#pinnedAtMs = this.#clocks.nowMs()
  }

  /** False once the pinned sender has been silent for long. */
  get #isPinned(): boolean {
    const heardAtMs = Math.max(this.#pinnedAtMs, this.#heartbeatAtMs ?? 0)
    return this.#peer !== undefined && this.#clocks.nowMs() - heardAtMs < UNPIN_AFTER_MS
  }

  isOwn({ systemId, componentId }: Frame): boolean {
    return systemId === this.ids.systemId && componentId === this.ids.componentId
  }

  isPeer({ address, port }: Peer): boolean {
    return this.#peer?.address === address && this.#peer.port === port
  }

  /** Takes the readings of a frame of the pinned sender. */
  take(frame: Frame): void {
    this.#loss.count(frame.sequence, this.#clocks.nowMs())
    if (frame.message === undefined) return
    if (isAutopilotBeat(frame)) this.#takeBeat(frame)
    this.#version = frame.version
    this.#noteClock(frame)
    this.#trust.note(frame)
    this.#seenAt = this.#clocks.now()
    const readings = { ...readFrame(frame), link_quality_percent: this.#loss.quality_percent }
    for (const [name, value] of Object.entries(readings))
      this.note(name, this.#trust.isGuess(name, this.#readings) ? null : value)
  }

  /** Sets a reading that no single frame has. */
  note(name: string, value: PropertyValue): void {
    this.#readings[name] = { value, at: this.#clocks.now() }
  }

  #takeBeat({ payload }: Frame): void {
    this.#heartbeatAtMs = this.#clocks.nowMs()
    const { type, autopilot, custom_mode } = decodePayload(HEARTBEAT, payload)
    this.#customMode = custom_mode
    this.#kind = findVehicleKind(type, autopilot)
  }

  #noteClock({ messageId, payload }: Frame): void {
    const message = CLOCKED.find(each => each.id === messageId)
    if (message === undefined) return
    const bootMs = Number(decodePayload(message, payload).time_boot_ms)
    if (bootMs + REBOOT_MS < this.#bootMs) this.#boots += 1
    this.#bootMs = bootMs
  }

  get seenAt(): number | null {
    return this.#seenAt
  }

  get readings(): DeviceState['readings'] {
    return { ...this.#readings }
  }
}

const isAutopilotBeat = ({ messageId, payload, message }: Frame): boolean => {
  if (message === undefined || messageId !== HEARTBEAT.id) return false
  const { type, autopilot } = decodePayload(HEARTBEAT, payload)
  return isAutopilot(type, autopilot)
}
