import { readLastNumber } from '../../kernel/store/sequences.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import type { Device } from './device.table.ts'
import { readChangedDevices } from './device-rows.ts'

/** The devices of the fleet in memory, as the store has them. */
export class DeviceInventory {
  readonly #ledger: Pick<Ledger, 'read'>
  readonly #devices = new Map<string, Device>()
  readonly #byCell = new Map<string, Set<string>>()
  /** Version of the newest change that is known. */
  #version = 0

  constructor(ledger: Pick<Ledger, 'read'>) {
    this.#ledger = ledger
  }

  get(id: string): Device | undefined {
    return this.#devices.get(id)
  }

  /** Devices that at least one cell announces. */
  list(): Device[] {
    return [...this.#devices.values()]
  }

  /** Devices that a cell announces, its own and those that belong to another cell. */
  listByCell(cellId: string): Device[] {
    return [...(this.#byCell.get(cellId) ?? [])].flatMap(id => this.#devices.get(id) ?? [])
  }

  /** Reads what has changed in the store, and returns the changed devices that are not gone. */
  read = async (): Promise<Device[]> => {
    const { read } = this.#ledger
    if ((await readLastNumber(read, 'devices')) < this.#version) this.#clear()
    const changed = await readChangedDevices(read, this.#version)
    for (const { device, version } of changed) {
      this.#remove(device.id)
      if (device.goneAt === undefined) this.#add(device)
      this.#version = version
    }
    return changed.map(({ device }) => device).filter(({ goneAt }) => goneAt === undefined)
  }

  /** Forgets everything: a fail-over has lost the newest changes, and their numbers are free again. */
  #clear(): void {
    this.#devices.clear()
    this.#byCell.clear()
    this.#version = 0
  }

  #add(device: Device): void {
    this.#devices.set(device.id, device)
    for (const cellId of cellsOf(device)) {
      const ids = this.#byCell.get(cellId) ?? new Set()
      this.#byCell.set(cellId, ids.add(device.id))
    }
  }

  #remove(id: string): void {
    const known = this.#devices.get(id)
    if (known === undefined) return
    this.#devices.delete(id)
    for (const cellId of cellsOf(known)) {
      const ids = this.#byCell.get(cellId)
      ids?.delete(id)
      if (ids?.size === 0) this.#byCell.delete(cellId)
    }
  }
}

const cellsOf = ({ cellId, alsoOn }: Device): string[] => [cellId, ...alsoOn]
