import { type CommandRecord, isFinal } from './command.ts'

/** Ends that come within this time share one write. */
const GATHER_MS = 10

/**
 * Changes of commands on their way to the disk. An end is written soon, the way to it with the
 * next `flush`: a coordinator that forgets it sends the command again, and the cell knows it. What
 * comes while the disk is busy is written together; what failed is tried again.
 */
export class WriteBehind {
  readonly #write: (records: readonly CommandRecord[]) => Promise<void>
  readonly #failed: (error: Error, records: number) => void
  readonly #waiting = new Map<string, CommandRecord>()
  #running: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(
    write: (records: readonly CommandRecord[]) => Promise<void>,
    failed: (error: Error, records: number) => void,
  ) {
    this.#write = write
    this.#failed = failed
  }

  /** The newest state of a command that is not on the disk yet. */
  get(id: string): CommandRecord | undefined {
    return this.#waiting.get(id)
  }

  add(record: CommandRecord): void {
    this.#waiting.set(record.id, record)
    if (isFinal(record.state)) this.#timer ??= setTimeout(() => this.flush(), GATHER_MS)
  }

  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#waiting.size > 0) this.#running ??= this.#run()
  }

  /** Writes what is left; resolves when nothing is under way any more. */
  async settled(): Promise<void> {
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
      this.#failed(error as Error, this.#waiting.size)
    } finally {
      this.#running = undefined
    }
  }
}
