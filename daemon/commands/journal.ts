import { FINAL_STATES } from '../../shared/wire/command.ts'
import {
  decode,
  type Entry,
  encode,
  type JournalLine,
  laneOf,
  type UsedLine,
} from './journal-line.ts'

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

/** Ids are known for a day, and at most so many. */
const KEPT_MS = 24 * 3600 * 1000
const KEPT_ENTRIES = 1000
/** Results are large: ends that take more than this are forgotten, oldest first. */
const KEPT_BYTES = 8 * 1024 * 1024
/** Lines and bytes after which the file is rewritten. */
const MAX_LINES = 5000
const MAX_BYTES = 4 * KEPT_BYTES
/** Lanes whose fence is kept apart; the lowest are kept as one. */
const MAX_FENCES = 1024

/**
 * What this cell was commanded, on the disk before it acts. The highest fence of each lane outlives
 * the entries, so a command whose id was forgotten is refused too, and so is an approval that was
 * used, as long as it lasts.
 */
export class Journal {
  readonly #file: JournalFile
  readonly #now: () => number
  readonly #entries = new Map<string, Entry>()
  /** Who used a part of an approved plan, by request and part. */
  readonly #used = new Map<string, UsedLine>()
  readonly #fences = new Map<string, number>()
  /** Holds for every lane that is not in the map. */
  #floor = 0
  #lines = 0
  #bytes = 0
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

  /** The highest fence of all commands that ever came for a lane. */
  fenceOf(lane: string): number {
    return Math.max(this.#floor, this.#fences.get(lane) ?? 0)
  }

  /** True when another command than `commandId` has used this part of an approved plan. */
  isUsed(requestId: string, partHash: string, commandId: string): boolean {
    const used = this.#used.get(`${requestId} ${partHash}`)
    return used !== undefined && used.by !== commandId
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
      this.#torn || this.#lines >= MAX_LINES || this.#bytes >= MAX_BYTES
        ? this.#rewrite()
        : this.#append(entry),
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
    const line = encode(entry)
    await this.#file.append(line)
    this.#torn = false
    this.#lines++
    this.#bytes += line.length
  }

  async #rewrite(): Promise<void> {
    this.#forgetOld()
    const fences = [...this.#fences].map(([lane, fence]) => ({ fence, lane }))
    const lines = [{ fence: this.#floor }, ...fences, ...this.#used.values()].map(encode)
    const entries = this.#newestOf([...this.#entries.values()].map(entry => [entry, encode(entry)]))
    const text = [...lines, ...entries].join('')
    await this.#file.replace(text)
    this.#lines = lines.length + entries.length
    this.#bytes = text.length
    this.#torn = false
  }

  /** The lines of entries; ends that are too much in bytes are forgotten, oldest first. */
  #newestOf(entries: [Entry, string][]): string[] {
    let bytes = 0
    const kept = entries.reverse().filter(([{ id, ack }, line]) => {
      bytes += line.length
      const isKept = bytes <= KEPT_BYTES || !FINAL_STATES.includes(ack.state)
      if (!isKept) this.#entries.delete(id)
      return isKept
    })
    return kept.reverse().map(([, line]) => line)
  }

  #forgetOld(): void {
    const finals = this.entries().filter(entry => FINAL_STATES.includes(entry.ack.state))
    const surplus = this.#entries.size - KEPT_ENTRIES
    const oldest = this.#now() - KEPT_MS
    finals.forEach((entry, index) => {
      if (index < surplus || entry.at < oldest) this.#entries.delete(entry.id)
    })
    for (const [key, { until }] of this.#used) if (until < oldest) this.#used.delete(key)
    const lowest = [...this.#fences].sort(([, a], [, b]) => b - a).slice(MAX_FENCES)
    for (const [lane, fence] of lowest) {
      this.#fences.delete(lane)
      this.#floor = Math.max(this.#floor, fence)
    }
  }

  /** A last line that a crash tore was never acted on: acting waits until it is on the disk. */
  #load(text: string): void {
    const lines = text.split('\n')
    const last = lines.pop()
    lines.forEach((line, index) => {
      const decoded = decode(line)
      const isEnd = index === lines.length - 1 && last === ''
      if (decoded === undefined) this.damaged ||= !isEnd
      else this.#takeLine(decoded)
    })
  }

  #takeLine(line: JournalLine): void {
    if ('id' in line) this.#take(line)
    else if ('by' in line) this.#used.set(`${line.request_id} ${line.part_hash}`, line)
    else if (line.lane === undefined) this.#floor = Math.max(this.#floor, line.fence)
    else this.#raiseFence(line.lane, line.fence)
  }

  #take(entry: Entry): void {
    const { id, fence, used } = entry
    this.#entries.set(id, entry)
    this.#raiseFence(laneOf(entry), fence)
    if (used !== undefined)
      this.#used.set(`${used.request_id} ${used.part_hash}`, { ...used, by: id })
  }

  #raiseFence(lane: string, fence: number): void {
    this.#fences.set(lane, Math.max(this.#fences.get(lane) ?? 0, fence))
  }
}
