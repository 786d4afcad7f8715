import * as z from 'zod'
import type {
  DeviceLink,
  ExecuteContext,
  Execution,
  LinkedDevice,
  StopContext,
} from '../../devices/device-link.ts'
import { defineProfile, defineVerb, type Json } from '../../devices/profile.ts'
import { SHARED_PROPERTIES } from '../../devices/properties.ts'
import type { DeviceState, PropertyValue } from '../../shared/wire/device.ts'
import { type DeviceOutcome, NOTHING_SEEN, type Seen } from '../../shared/wire/device-outcome.ts'

const { battery_percent, x_m, y_m, speed_m_s } = SHARED_PROPERTIES

/** A cart that drives to a point in the local frame. */
export const cart = defineProfile({
  id: 'fake-cart',
  title: 'Cart',
  kind: 'robot',
  link: 'sim',
  properties: { battery_percent, x_m, y_m, speed_m_s },
  verbs: {
    'drive-to': defineVerb({
      description: 'Drives to a point.',
      params: z.strictObject({
        x_m: z.number().min(-100).max(100),
        y_m: z.number().min(-100).max(100),
        speed_m_s: z.number().positive().max(3).default(1),
      }),
      hazard: 'unsafe',
      isIdempotent: true,
      timeoutSeconds: 60,
      atEstop: 'hold',
      plan: ({ x_m: x, y_m: y, speed_m_s: speed }, { options }) => ({
        operations: [{ topic: `${options.name}/goal`, x, y, speed }],
        motion: {
          path: [{ frame: 'local', x, y, altitude_m: 0 }],
          max_speed_m_s: speed,
          max_duration_s: 60,
        },
      }),
    }),
    look: defineVerb({
      description: 'Returns what the cart sees.',
      params: z.strictObject({}),
      hazard: 'read',
      isIdempotent: true,
      timeoutSeconds: 5,
      atEstop: 'none',
      plan: () => ({ operations: ['look'] }),
    }),
    stop: defineVerb({
      description: 'Stops in place.',
      params: z.strictObject({}),
      hazard: 'safe',
      isUrgent: true,
      isIdempotent: true,
      timeoutSeconds: 5,
      atEstop: 'none',
      plan: () => ({ operations: ['stop'] }),
    }),
  },
  atEstop: 'hold',
})

type Execute = (operations: readonly Json[], context: ExecuteContext) => Promise<Json>

/** A link whose devices, readings and answers the test sets. */
export class FakeLink implements DeviceLink {
  readonly kind = 'sim'
  devices: LinkedDevice[] = []
  readonly states = new Map<string, DeviceState>()
  /** Device and operations of every `execute`. */
  readonly executed: [string, readonly Json[]][] = []
  readonly stopped: string[] = []
  /** Context of each stop. */
  readonly stops: StopContext[] = []
  execution: Execute = async () => null
  /** State observed after an `execute`. */
  seen: Seen = NOTHING_SEEN.seen
  stopping: () => Promise<DeviceOutcome> = async () => NOTHING_SEEN
  onEnd: () => void = () => {}
  #listeners = new Set<() => void>()

  start(signal: AbortSignal): void {
    signal.addEventListener('abort', () => this.onEnd())
  }

  list(): readonly LinkedDevice[] {
    return this.devices
  }

  readState(deviceId: string): DeviceState | undefined {
    return this.states.get(deviceId)
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async execute(
    deviceId: string,
    operations: readonly Json[],
    context: ExecuteContext,
  ): Promise<Execution> {
    this.executed.push([deviceId, operations])
    const result = await this.execution(operations, context)
    return { asked: { sent: [] }, seen: this.seen, result }
  }

  async stop(...given: Parameters<DeviceLink['stop']>): Promise<DeviceOutcome> {
    const [deviceId, , context = {}] = given
    this.stopped.push(deviceId)
    this.stops.push(context)
    return this.stopping()
  }

  /** Adds a cart. */
  add(deviceId: string, changes: Partial<LinkedDevice> = {}): void {
    this.devices = [
      ...this.devices.filter(one => one.deviceId !== deviceId),
      {
        deviceId,
        name: deviceId,
        profile: cart,
        available: true,
        writable: true,
        options: { name: deviceId },
        ...changes,
      },
    ]
    this.#notify()
  }

  /** Withdraws a device, as a broker can. */
  remove(deviceId: string): void {
    this.devices = this.devices.filter(one => one.deviceId !== deviceId)
    this.#notify()
  }

  /** Sets readings taken at a time, in unix milliseconds. */
  set(deviceId: string, at: number, values: Record<string, PropertyValue>): void {
    const before = this.states.get(deviceId)?.readings
    const readings = Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, { value, at }]),
    )
    this.states.set(deviceId, {
      device_id: deviceId,
      seen_at: at,
      readings: { ...before, ...readings },
    })
    this.#notify()
  }

  #notify(): void {
    for (const listener of this.#listeners) listener()
  }
}
