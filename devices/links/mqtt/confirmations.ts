import type { DeviceState, PropertyValue } from '../../../shared/wire/device.ts'
import type { MqttOperation } from './operation.ts'

type Confirm = NonNullable<MqttOperation['confirm']>

interface Wait {
  deviceId: string
  confirm: Confirm
  /** Readings from this time on count, in unix milliseconds. */
  since: number
  resolve: () => void
}

/** Commands that wait for the reading by which their device confirms them. */
export class Confirmations {
  readonly #waits = new Set<Wait>()

  /** Resolves at a fresh reading with the value; rejects with the reason of the signal. */
  async wait(
    deviceId: string,
    confirm: Confirm,
    { since, signal }: { since: number; signal: AbortSignal },
  ): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const abort = (): void => reject(signal.reason)
    const wait = { deviceId, confirm, since, resolve }
    this.#waits.add(wait)
    signal.addEventListener('abort', abort, { once: true })
    try {
      signal.throwIfAborted()
      await promise
    } finally {
      this.#waits.delete(wait)
      signal.removeEventListener('abort', abort)
    }
  }

  settle({ device_id, readings }: DeviceState): void {
    for (const { deviceId, confirm, since, resolve } of this.#waits) {
      const reading = deviceId === device_id ? readings[confirm.property] : undefined
      if (reading !== undefined && reading.at >= since && isConfirmedBy(confirm, reading.value))
        resolve()
    }
  }
}

/** True for a value that confirms the command. */
export const isConfirmedBy = ({ value, within = 0 }: Confirm, read: PropertyValue): boolean =>
  typeof value === 'number' && typeof read === 'number'
    ? Math.abs(read - value) <= within
    : read === value
