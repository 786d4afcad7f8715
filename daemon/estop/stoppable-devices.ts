import type { StopContext } from '../../devices/device-link.ts'
import type { EstopBehaviour } from '../../shared/wire/device.ts'
import type { DeviceOutcome, Seen } from '../../shared/wire/device-outcome.ts'

/** A device of the cell, as far as an e-stop needs it. */
export interface StoppableDevice {
  deviceId: string
  name: string
  /** Null for a device without a site. */
  site: string | null
  /** False while its link does not reach it. */
  isAvailable: boolean
  /** Effect of an e-stop on it now: that of its running verb, or of its profile. */
  atEstop: EstopBehaviour
}

/** The devices of the cell and the way to stop them that no queue and no running verb delays. */
export interface StoppableDevices {
  listDevices(): readonly StoppableDevice[]
  /** Calls back when a device may have gone or returned. Returns how to stop that. */
  onChange(listener: () => void): () => void
  /**
   * Resolves when the device has acknowledged, with what was asked and observed; rejects with the
   * reason why it has not.
   */
  stopDevice(
    deviceId: string,
    behaviour: EstopBehaviour,
    context?: StopContext,
  ): Promise<DeviceOutcome>
  /** Creates an observer from now on; undefined for a device that does not show whether it rests. */
  createObserver?(deviceId: string, behaviour: EstopBehaviour): (() => Seen) | undefined
}
