import { type Runtime, stopTimer, type Timer } from '../../../shared/runtime.ts'
import { type CommandChange, type CommandRecord, isFinalCommandState } from './command.ts'

/** Changes per write, so that none holds the sealed lane for long. */
const BATCH = 64
/** Time during which final states are gathered into one write. */
const GATHER_MS = 10

/**
 * Queue of command changes to be written to disk. Final states are written soon, other changes with
 * the next `flush`: if a coordinator loses one it resends the command, and the cell recognizes it.
 * Changes made during a write are batched; a failed write is retried.
 */
export class WriteBehind {
  readonly #write: (changes: readonly CommandChange[]) => Promise<void>
  readonly #onError: (error: Error, changes: number) => void
  readonly #waiting = new Map<string, CommandChange>()
  readonly #runtime: Pick<Runtime, 'setTimeout'>
  #running: Promise<void> | undefined
  #timer: Timer | undefined

  constructor(
    write: (changes: readonly CommandChange[]) => Promise<void>,
    onError: (error: Error, changes: number) => void,
    runtime: Pick<Runtime, 'setTimeout'>,
  ) {
    this.#runtime = runtime
    this.#write = write
    this.#onError = onError
  }

  /** The newest state of a command that is not on the disk yet. */
  get(id: string): CommandRecord | undefined {
    return this.#waiting.get(id)?.record
  }

  add(change: CommandChange): void {
    const { record } = change
    this.#waiting.set(record.id, change)
    if (isFinalCommandState(record.state))
      this.#timer ??= this.#runtime.setTimeout(() => this.flush(), GATHER_MS)
  }

  /** Forgets a change that the store has overtaken. */
  drop(id: string): void {
    this.#waiting.delete(id)
  }

  flush(): void {
    stopTimer(this.#timer)
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
        const changes = [...this.#waiting.values()].slice(0, BATCH)
        await this.#write(changes)
        for (const change of changes) {
          const { id } = change.record
          if (this.#waiting.get(id) === change) this.#waiting.delete(id)
        }
      }
    } catch (error) {
      this.#onError(error as Error, this.#waiting.size)
    } finally {
      this.#running = undefined
    }
  }
}
