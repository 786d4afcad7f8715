import type { Advertisement } from './ble-backend.ts'
import { HeardDevice } from './heard-device.ts'

/** Most devices of one scan. */
const MAX_DEVICES = 1024

/**
 * Addresses after which a scan ends. The library remembers every address, and a sender of invented
 * ones could fill the memory of the process.
 */
const MAX_ADDRESSES = 8 * MAX_DEVICES

/** Devices of one scan, by their address. */
export class HeardDevices {
  readonly #devices = new Map<string, HeardDevice>()
  readonly #others = new Set<string>()
  readonly #onFull: () => void

  /** `onFull` is called when the scan should end. */
  constructor(onFull: () => void) {
    this.#onFull = onFull
  }

  hear(heard: Advertisement): void {
    const known = this.#devices.get(heard.address)
    if (known !== undefined) known.hear(heard)
    else if (this.#devices.size < MAX_DEVICES) {
      const device = new HeardDevice(heard)
      this.#devices.set(heard.address, device)
      device.hear(heard)
    } else this.#leaveOut(heard.address)
  }

  #leaveOut(address: string): void {
    this.#others.add(address)
    if (this.#others.size >= MAX_ADDRESSES - MAX_DEVICES) this.#onFull()
  }

  get devices(): IterableIterator<HeardDevice> {
    return this.#devices.values()
  }

  /** Number of devices that were left out; a lower bound once the scan has ended early. */
  get leftOut(): number {
    return this.#others.size
  }
}
