import { FINAL_STATES } from '../../shared/wire/command.ts'
import { encodeLine } from '../checked-line.ts'
import {
  decodeLine,
  deviceLaneOf,
  type Entry,
  type JournalLine,
  type UsedLine,
} from './journal-line.ts'

/** File of the journal's lines; tests substitute a failing disk. */
export interface JournalFile {
  /** Reads the whole file; undefined when it does not exist yet. */
  read(): Promise<string | undefined>
  /** Appends text; it is on disk when this resolves. */
  append(text: string): Promise<void>
  /** Replaces the whole file atomically. */
  replace(text: string): Promise<void>
  close(): Promise<void>
}

/** Ids are remembered for a day, and up to this many. */
const KEPT_MS = 24 * 3600 * 1000
const KEPT_ENTRIES = 1000
/**
 * Size limit of stored outcomes, whose results can be large; beyond it the oldest are forgotten.
 */
const KEPT_BYTES = 8 * 1024 * 1024
/** Lines and bytes at which the file is compacted. */
const MAX_LINES = 5000
const MAX_BYTES = 4 * KEPT_BYTES
/** Lanes with their own fence; the lowest fences are merged into the floor. */
const MAX_FENCES = 1024

/**
 * Log of commands, on disk before the cell acts. The highest fence of each lane outlives the
 * entries, so that a command whose id was forgotten is still refused; so does a used approval until
 * it expires.
 */
export class CommandJournal {
  readonly #file: JournalFile
  readonly #now: () => number
  readonly #entries = new Map<string, Entry>()
  /** Commands that used a part of an approved plan, by request and part. */
  readonly #used = new Map<string, UsedLine>()
  readonly #fences = new Map<string, number>()
  /** Fence of every lane that is not in the map. */
  #floor = 0
  #lines = 0
  #bytes = 0
  /** True while the file may end in a partial line. */
  #isTorn = true
  #last: Promise<unknown> = Promise.resolve()
  /** True when more than the last line was unreadable: commands may have been forgotten. */
  isDamaged = false

  /** Throws when the file can be neither read nor written. */
  static async open(file: JournalFile, now: () => number): Promise<CommandJournal> {
    const journal = new CommandJournal(file, now)
    journal.#load((await file.read()) ?? '')
    await journal.#rewrite()
    return journal
  }

  private constructor(file: JournalFile, now: () => number) {
    this.#file = file
    this.#now = now
  }

  /** Highest fence of all commands ever received for a lane. */
  fenceOf(lane: string): number {
    return Math.max(this.#floor, this.#fences.get(lane) ?? 0)
  }

  /** True when a command other than `commandId` has used this part of an approved plan. */
  isUsed(requestId: string, partHash: string, commandId: string): boolean {
    const used = this.#used.get(`${requestId} ${partHash}`)
    return used !== undefined && used.by !== commandId
  }

  find(id: string): Entry | undefined {
    return this.#entries.get(id)
  }

  /** Entries, oldest first. */
  listEntries(): Entry[] {
    return [...this.#entries.values()]
  }

  /**
   * Stores an entry; it is on disk when this resolves. After a rejection the entry is remembered
   * until the process ends.
   */
  write(entry: Entry): Promise<void> {
    this.#take(entry)
    return this.#runInTurn(() =>
      this.#isTorn || this.#lines >= MAX_LINES || this.#bytes >= MAX_BYTES
        ? this.#rewrite()
        : this.#append(entry),
    )
  }

  close(): Promise<void> {
    return this.#runInTurn(() => this.#file.close())
  }

  /** Runs file operations one at a time, in call order. */
  #runInTurn<T>(step: () => Promise<T>): Promise<T> {
    const result = this.#last.then(step)
    this.#last = result.catch(() => {})
    return result
  }

  async #append(entry: Entry): Promise<void> {
    this.#isTorn = true
    const line = encodeLine(entry)
    await this.#file.append(line)
    this.#isTorn = false
    this.#lines++
    this.#bytes += line.length
  }

  async #rewrite(): Promise<void> {
    this.#forgetOld()
    const fences = [...this.#fences].map(([lane, fence]) => ({ fence, lane }))
    const lines = [{ fence: this.#floor }, ...fences, ...this.#used.values()].map(encodeLine)
    const entries = this.#selectNewest(
      [...this.#entries.values()].map(entry => [entry, encodeLine(entry)]),
    )
    const text = [...lines, ...entries].join('')
    await this.#file.replace(text)
    this.#lines = lines.length + entries.length
    this.#bytes = text.length
    this.#isTorn = false
  }

  /**
   * Selects the lines to keep: beyond the size limit, final entries are forgotten, oldest first.
   */
  #selectNewest(entries: [Entry, string][]): string[] {
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
    const finals = this.listEntries().filter(entry => FINAL_STATES.includes(entry.ack.state))
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

  /** A last line torn by a crash was never acted on: execution waits for the disk. */
  #load(text: string): void {
    const lines = text.split('\n')
    const last = lines.pop()
    lines.forEach((line, index) => {
      const decoded = decodeLine(line)
      const isEnd = index === lines.length - 1 && last === ''
      if (decoded === undefined) this.isDamaged ||= !isEnd
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
    this.#raiseFence(deviceLaneOf(entry), fence)
    if (used !== undefined)
      this.#used.set(`${used.request_id} ${used.part_hash}`, { ...used, by: id })
  }

  #raiseFence(lane: string, fence: number): void {
    this.#fences.set(lane, Math.max(this.#fences.get(lane) ?? 0, fence))
  }
}
