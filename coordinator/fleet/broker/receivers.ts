import type { DeviceState } from '../../../shared/wire/device.ts'
import type { FindingsBody } from '../../../shared/wire/findings.ts'
import type { RefusedDevice } from './admit-devices.ts'

/** Receiver of the devices of cells and their readings. */
export interface DeviceReceiver {
  /** Devices that the newest birth of a cell named and that are not served. */
  onRefused(cellId: string, refused: readonly RefusedDevice[]): void
  /** `clockAheadMs`: by how much the cell's clock was ahead of ours when the states arrived. */
  onStates(cellId: string, states: readonly DeviceState[], clockAheadMs: number): void
}

/** Receiver of the findings of scheduled runs. */
export interface FindingsReceiver {
  /**
   * Resolves when the findings are stored, were stored before, or can never be: the cell deletes
   * them. Rejects when they cannot be stored now: the cell keeps them and sends them again.
   */
  onFindings(cellId: string, body: FindingsBody): Promise<void>
}

/** Receiver of e-stop reports. */
export interface EstopReceiver {
  /** One body of the `estopped` topic. */
  onReport(cellId: string, body: unknown): void
}
