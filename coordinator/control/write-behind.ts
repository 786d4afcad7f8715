import { type CommandRecord, isFinalCommandState } from './command.ts'

/** Time during which final states are gathered into one write. */
const GATHER_MS = 10

/**
 * Queue of command changes to be written to disk. Final states are written soon, other changes with
 * the next `flush`: if a coordinator loses one it resends the command, and the cell recognizes it.
 * Changes made during a write are batched; a failed write is retried.
 */
export class WriteBehind {
  readonly #write: (records: readonly CommandRecord[]) => Promise<void>
  readonly #onError: (error: Error, records: number) => void
  readonly #waiting = new Map<string, CommandRecord>()
  #running: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(
    write: (records: readonly CommandRecord[]) => Promise<void>,
    onError: (error: Error, records: number) => void,
  ) {
    this.#write = write
    this.#onError = onError
  }

  /** The newest state of a command that is not on the disk yet. */
  get(id: string): CommandRecord | undefined {
    return this.#waiting.get(id)
  }

  add(record: CommandRecord): void {
    this.#waiting.set(record.id, record)
    if (isFinalCommandState(record.state)) this.#timer ??= setTimeout(() => this.flush(), GATHER_MS)
  }

  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#waiting.size > 0) this.#running ??= this.#run()
  }

  /** Flushes the remaining changes; resolves when no write is in progress. */
  async flushAll(): Promise<void> {
    this.flush()
    while (this.#running !== undefined) await this.#running
  }

  async #run(): Promise<void> {
    await Promise.resolve()
    try {
      while (this.#waiting.size > 0) {
        const records = [...this.#waiting.values()]
        await this.#write(records)
        for (const record of records)
          if (this.#waiting.get(record.id) === record) this.#waiting.delete(record.id)
      }
    } catch (error) {
      this.#onError(error as Error, this.#waiting.size)
    } finally {
      this.#running = undefined
    }
  }
}
