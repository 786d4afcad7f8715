import { closeSync, openSync, read, readdirSync, rmSync, writeSync } from 'node:fs'
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Logger } from 'pino'
import type { ShoalError } from '../../../shared/errors.ts'
import { type Runtime, stopTimer, type Timer } from '../../../shared/runtime.ts'
import { StoreFault, storeUnavailable } from './faults.ts'

interface JournalOptions<T> {
  /** Belongs to the journal alone; created when missing. */
  folder: string
  /**
   * Writes values to their table, at most `SLICE` of them. A value may be carried twice, after a
   * crash before its file was removed or after a failure. Rejects when it must be tried again.
   */
  carry: (values: T[]) => Promise<void>
  /** Runs when all values of a file were carried, before the file is removed. */
  onCarried?: () => Promise<void>
  logger: Pick<Logger, 'warn'>
  /** Interval of carrying over, milliseconds. */
  everyMs?: number
  runtime: Pick<Runtime, 'setInterval' | 'setImmediate' | 'ids'>
}

interface Segment {
  path: string
  file: number
  bytes: number
  /** The last write was cut off; its rest must not become part of the next line. */
  torn: boolean
}

/**
 * A file that values are appended to before they reach their table. Appended values survive the
 * death of the process (not that of the machine: nothing is synced) and cost a tenth of a
 * transaction. A moment later they are carried over, a slice in each turn of the event loop.
 */
export class Journal<T> {
  readonly #options: JournalOptions<T>
  readonly #timer: Timer
  #active: Segment | undefined
  #sealed: Segment | undefined
  #carrying: Promise<void> | undefined
  #open: { text: string; written: Promise<void> } | undefined

  private constructor(options: JournalOptions<T>) {
    this.#options = options
    this.#timer = options.runtime.setInterval(() => {
      if (this.#active !== undefined || this.#sealed !== undefined)
        this.#carryOnce().catch(error => warn(options.logger, error))
    }, options.everyMs ?? 1000)
    this.#timer.unref()
  }

  /** Carries over the values of a dead process first. */
  static async open<T>(options: JournalOptions<T>): Promise<Journal<T>> {
    const { folder, logger } = options
    await mkdir(folder, { recursive: true, mode: 0o700 })
    // values that cannot be carried over now stay for the next start
    await carryLeftovers(options).catch(error => warn(logger, error))
    return new Journal(options)
  }

  /** Resolves when the value is in the file. Rejects with `store_unavailable`. */
  append(value: T): Promise<void> {
    const line = `${JSON.stringify(value)}\n`
    if (this.#open !== undefined) {
      this.#open.text += line
      return this.#open.written
    }
    // values of one turn of the event loop share one write
    const written = new Promise<void>((resolve, reject) =>
      this.#options.runtime.setImmediate(() => {
        try {
          this.#flush()
          resolve()
        } catch (cause) {
          reject(unavailable(cause))
        }
      }),
    )
    this.#open = { text: line, written }
    return written
  }

  /** Resolves when all values appended before have been carried over. */
  async drain(): Promise<void> {
    await this.#open?.written.catch(() => {})
    await this.#carrying
    // first the values that could not be carried over, then those appended since
    if (this.#sealed !== undefined) await this.#carryOnce()
    // another drain may have begun with them meanwhile
    if (this.#active !== undefined || this.#carrying !== undefined) await this.#carryOnce()
  }

  /** Drains the journal; values that cannot be carried over are found at the next start. */
  async close(): Promise<void> {
    stopTimer(this.#timer)
    await this.drain().catch(error => warn(this.#options.logger, error))
    for (const segment of [this.#active, this.#sealed])
      if (segment !== undefined) closeSync(segment.file)
  }

  #flush(): void {
    const text = this.#open?.text ?? ''
    this.#open = undefined
    this.#active ??= newSegment(this.#options)
    write(this.#active, text)
  }

  #carryOnce(): Promise<void> {
    this.#carrying ??= this.#carryOver().finally(() => {
      this.#carrying = undefined
    })
    return this.#carrying
  }

  async #carryOver(): Promise<void> {
    if (this.#sealed === undefined) {
      this.#sealed = this.#active
      this.#active = undefined
    }
    if (this.#sealed === undefined) return
    const { path, file, bytes } = this.#sealed
    await carryContent(await contentOf(file, bytes), this.#options)
    this.#sealed = undefined
    closeSync(file)
    await rm(path, { force: true })
  }
}

/**
 * Lines of every file of a journal, also while another process appends to it; empty without a
 * folder. A file that is carried over meanwhile may be missing.
 */
export const readJournal = async (folder: string): Promise<string> => {
  const names = await readdir(folder).catch(() => [])
  const files = names.filter(name => name.endsWith(EXTENSION)).toSorted()
  const texts = await Promise.all(files.map(name => readIfThere(join(folder, name))))
  return texts.map(text => (text === '' || text.endsWith('\n') ? text : `${text}\n`)).join('')
}

const readIfThere = async (path: string): Promise<string> => {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

const warn = (logger: Pick<Logger, 'warn'>, error: unknown): void =>
  logger.warn({ err: error }, 'the journal could not be carried over; it is tried again')

const EXTENSION = '.jsonl'

/** File names sort by age. */
const newSegment = ({
  folder,
  runtime,
}: Pick<JournalOptions<unknown>, 'folder' | 'runtime'>): Segment => {
  const path = join(folder, `${runtime.ids.create('seg')}${EXTENSION}`)
  return { path, file: openSync(path, 'ax+', 0o600), bytes: 0, torn: false }
}

/** Writes the whole text or throws; a full disk takes only a part of it. */
const write = (segment: Segment, text: string): void => {
  const bytes = Buffer.from(segment.torn ? `\n${text}` : text)
  segment.torn = true
  let done = 0
  while (done < bytes.length) {
    const taken = writeSync(segment.file, bytes, done)
    segment.bytes += taken
    done += taken
  }
  segment.torn = false
}

const contentOf = async (file: number, bytes: number): Promise<Buffer> => {
  const buffer = Buffer.alloc(bytes)
  for (let at = 0; at < bytes; ) {
    const { bytesRead } = await promisify(read)(file, buffer, at, bytes - at, at)
    if (bytesRead === 0) break
    at += bytesRead
  }
  return buffer
}

/** Values that are parsed and carried in one turn of the event loop: a few milliseconds. */
const SLICE = 256

const carryContent = async <T>(
  content: Buffer,
  { carry, onCarried }: JournalOptions<T>,
): Promise<void> => {
  let slice: T[] = []
  for (const line of linesOf(content)) {
    const value = parseLine<T>(line)
    if (value === undefined) continue
    slice.push(value)
    if (slice.length < SLICE) continue
    await carry(slice)
    slice = []
  }
  if (slice.length > 0) await carry(slice)
  await onCarried?.()
}

const LINE_END = 10

function* linesOf(content: Buffer): Generator<string> {
  for (let from = 0; from < content.length; ) {
    const found = content.indexOf(LINE_END, from)
    const to = found === -1 ? content.length : found
    if (to > from) yield content.toString('utf8', from, to)
    from = to + 1
  }
}

/** Undefined for a line that was cut off while it was written: its `append` never resolved. */
const parseLine = <T>(line: string): T | undefined => {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

const carryLeftovers = async <T>(options: JournalOptions<T>): Promise<void> => {
  const { folder } = options
  const names = readdirSync(folder).filter(name => name.endsWith(EXTENSION))
  for (const name of names.sort()) {
    const path = join(folder, name)
    await carryContent(await readFile(path), options)
    rmSync(path, { force: true })
  }
}

const unavailable = (cause: unknown): ShoalError => {
  const { code } = cause as NodeJS.ErrnoException
  const message = `the journal cannot be written (${code})`
  const kind = code === 'ENOSPC' ? 'full' : 'unavailable'
  return storeUnavailable(message, new StoreFault(kind, message, cause))
}
