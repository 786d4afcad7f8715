import type { CommandRecord } from './command.ts'

/** The commands that have not ended, also by cell. */
export class OpenCommands {
  readonly #byId = new Map<string, CommandRecord>()
  readonly #byCell = new Map<string, Set<string>>()

  get(id: string): CommandRecord | undefined {
    return this.#byId.get(id)
  }

  set(record: CommandRecord): void {
    this.#byId.set(record.id, record)
    const ids = this.#byCell.get(record.cellId) ?? new Set()
    this.#byCell.set(record.cellId, ids.add(record.id))
  }

  delete({ id, cellId }: CommandRecord): void {
    this.#byId.delete(id)
    const ids = this.#byCell.get(cellId)
    ids?.delete(id)
    if (ids?.size === 0) this.#byCell.delete(cellId)
  }

  /** Oldest first. */
  listByCell(cellId: string): CommandRecord[] {
    return [...(this.#byCell.get(cellId) ?? [])].flatMap(id => this.#byId.get(id) ?? [])
  }

  list(): CommandRecord[] {
    return [...this.#byId.values()]
  }
}
