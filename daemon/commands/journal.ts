import { crc32 } from 'node:zlib'
import * as z from 'zod'
import { Ack, Command, FINAL_STATES } from '../../shared/wire/command.ts'

/** Where the journal's lines are; tests put a disk that fails or tears in its place. */
export interface JournalFile {
  /** Undefined when there is none yet. */
  read(): Promise<string | undefined>
  /** Adds text; it is on the disk when this resolves. */
  append(text: string): Promise<void>
  /** Replaces everything in one step. */
  replace(text: string): Promise<void>
  close(): Promise<void>
}

/** One command as far as this cell has come with it. */
const Entry = z.object({
  id: z.string(),
  fence: z.int(),
  /** Unix milliseconds by the cell's clock. */
  at: z.int(),
  ack: Ack,
  /** Kept until it is done. */
  command: Command.exactOptional(),
})
export type Entry = z.infer<typeof Entry>

const Line = z.union([z.object({ fence: z.int() }).strict(), Entry])

/** Ids are known for a day, and at most so many. */
const KEPT_MS = 24 * 3600 * 1000
const KEPT_ENTRIES = 1000
/** Lines after which the file is written anew. */
const MAX_LINES = 5000

/**
 * What this cell was commanded, on the disk before it acts. The highest fence outlives the
 * entries, so a command whose id was forgotten is refused too.
 */
export class Journal {
  readonly #file: JournalFile
  readonly #now: () => number
  readonly #entries = new Map<string, Entry>()
  #fence = 0
  #lines = 0
  /** The file may end in half a line. */
  #torn = true
  #last: Promise<unknown> = Promise.resolve()
  /** Something other than its end could not be read: commands may have been forgotten. */
  damaged = false

  /** Throws when the file can neither be read nor written. */
  static async open(file: JournalFile, now: () => number): Promise<Journal> {
    const journal = new Journal(file, now)
    journal.#load((await file.read()) ?? '')
    await journal.#rewrite()
    return journal
  }

  private constructor(file: JournalFile, now: () => number) {
    this.#file = file
    this.#now = now
  }

  /** The highest fence of all commands that ever came. */
  get fence(): number {
    return this.#fence
  }

  find(id: string): Entry | undefined {
    return this.#entries.get(id)
  }

  /** Oldest first. */
  entries(): Entry[] {
    return [...this.#entries.values()]
  }

  /**
   * Keeps an entry; it is on the disk when this resolves. When that fails the entry is known as
   * long as this process lives.
   */
  write(entry: Entry): Promise<void> {
    this.#take(entry)
    return this.#inTurn(() =>
      this.#torn || this.#lines >= MAX_LINES ? this.#rewrite() : this.#append(entry),
    )
  }

  close(): Promise<void> {
    return this.#inTurn(() => this.#file.close())
  }

  /** One access to the file at a time, in the order they were asked. */
  #inTurn<T>(step: () => Promise<T>): Promise<T> {
    const result = this.#last.then(step)
    this.#last = result.catch(() => {})
    return result
  }

  async #append(entry: Entry): Promise<void> {
    this.#torn = true
    await this.#file.append(encode(entry))
    this.#torn = false
    this.#lines++
  }

  async #rewrite(): Promise<void> {
    this.#forgetOld()
    const lines = [{ fence: this.#fence }, ...this.#entries.values()]
    await this.#file.replace(lines.map(encode).join(''))
    this.#lines = lines.length
    this.#torn = false
  }

  #forgetOld(): void {
    const finals = this.entries().filter(entry => FINAL_STATES.includes(entry.ack.state))
    const surplus = this.#entries.size - KEPT_ENTRIES
    finals.forEach((entry, index) => {
      if (index < surplus || entry.at < this.#now() - KEPT_MS) this.#entries.delete(entry.id)
    })
  }

  /** A last line that a crash tore was never acted on: acting waits until it is on the disk. */
  #load(text: string): void {
    const lines = text.split('\n')
    const last = lines.pop()
    lines.forEach((line, index) => {
      const decoded = decode(line)
      const isEnd = index === lines.length - 1 && last === ''
      if (decoded === undefined) this.damaged ||= !isEnd
      else if ('id' in decoded) this.#take(decoded)
      else this.#fence = Math.max(this.#fence, decoded.fence)
    })
  }

  #take(entry: Entry): void {
    this.#entries.set(entry.id, entry)
    this.#fence = Math.max(this.#fence, entry.fence)
  }
}

/** A line is the CRC-32 of its JSON, then the JSON. */
const encode = (line: object): string => {
  const text = JSON.stringify(line)
  return `${crc32(text).toString(16).padStart(8, '0')} ${text}\n`
}

const decode = (line: string): z.infer<typeof Line> | undefined => {
  const text = line.slice(9)
  if (crc32(text).toString(16).padStart(8, '0') !== line.slice(0, 8)) return undefined
  return Line.safeParse(JSON.parse(text)).data
}
