import type { Logger } from 'pino'
import { readLastNumber } from '../../kernel/store/sequences.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import type { Device } from './device.table.ts'
import { readChangedDevices } from './device-rows.ts'

/** The devices of the fleet in memory, as the store has them. */
export class DeviceInventory {
  readonly #ledger: Pick<Ledger, 'read'>
  readonly #logger: Pick<Logger, 'warn'>
  readonly #devices = new Map<string, Device>()
  readonly #byCell = new Map<string, Set<string>>()
  /** Version of the newest change that is known. */
  #version = 0

  constructor(ledger: Pick<Ledger, 'read'>, logger: Pick<Logger, 'warn'>) {
    this.#ledger = ledger
    this.#logger = logger
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
    const changes = await readChangedDevices(read, this.#version, this.#logger)
    for (const id of changes.ids) this.#remove(id)
    const present = changes.devices.filter(({ goneAt }) => goneAt === undefined)
    for (const device of present) this.#add(device)
    this.#version = changes.version ?? this.#version
    return present
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
