import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import { decodeRecords } from './records.ts'

/** One file of the spool. */
export interface SpoolSegment {
  number: number
  /** Bytes of whole records; a torn tail is not counted. */
  bytes: number
  /** Bytes on the disk. */
  size: number
  records: number
}

/** A place between two records. `record` counts from the beginning of the segment. */
const Position = z.object({
  segment: z.int().nonnegative(),
  offset: z.int().nonnegative(),
  record: z.int().nonnegative(),
})
export type Position = z.infer<typeof Position>

/** Writes to a segment; tests replace it with one that fails. */
export type Append = (file: FileHandle, data: Buffer) => Promise<void>

/** The files of a spool: numbered segments, and `cursor`, the place up to which all is done. */
export class SegmentFiles {
  readonly #folder: string
  readonly #append: Append
  #active: { file: FileHandle; number: number } | undefined

  constructor(folder: string, append: Append = (file, data) => file.appendFile(data)) {
    this.#folder = folder
    this.#append = append
  }

  /** Loads all segments, oldest first, and the cursor. */
  async load(): Promise<{ segments: SpoolSegment[]; cursor: Position | undefined }> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    const numbers = (await readdir(this.#folder))
      .map(name => /^(\d{10})\.spool$/.exec(name)?.[1])
      .filter(text => text !== undefined)
      .map(Number)
      .sort((a, b) => a - b)
    const segments: SpoolSegment[] = []
    for (const number of numbers) segments.push(await this.#inspect(number))
    return { segments, cursor: await this.#readCursor() }
  }

  /** Appends one record to a segment. A failed write is truncated again. */
  async append(segment: SpoolSegment, data: Buffer): Promise<void> {
    const file = await this.#openActive(segment.number)
    segment.size += data.length
    try {
      await this.#append(file, data)
      segment.bytes = segment.size
      segment.records++
    } catch (error) {
      await file.truncate(segment.bytes)
      segment.size = segment.bytes
      throw error
    }
  }

  /** Resolves when all appended records are on disk. */
  async sync(): Promise<void> {
    await this.#active?.file.datasync()
  }

  /** Reads at most `bytes` from a position. */
  async read({ segment, offset }: Position, bytes: number): Promise<Buffer> {
    const file = await open(this.#path(segment), 'r')
    try {
      const buffer = Buffer.alloc(bytes)
      const { bytesRead } = await file.read(buffer, 0, bytes, offset)
      return buffer.subarray(0, bytesRead)
    } finally {
      await file.close()
    }
  }

  async remove(number: number): Promise<void> {
    if (this.#active?.number === number) await this.close()
    await rm(this.#path(number), { force: true })
  }

  async writeCursor(cursor: Position): Promise<void> {
    const file = await open(join(this.#folder, 'cursor.new'), 'w', 0o600)
    try {
      await file.writeFile(JSON.stringify(cursor))
    } finally {
      await file.close()
    }
    await rename(join(this.#folder, 'cursor.new'), join(this.#folder, 'cursor'))
  }

  async close(): Promise<void> {
    const active = this.#active
    this.#active = undefined
    await active?.file.datasync().finally(() => active.file.close())
  }

  #path(number: number): string {
    return join(this.#folder, `${String(number).padStart(10, '0')}.spool`)
  }

  async #openActive(number: number): Promise<FileHandle> {
    if (this.#active?.number !== number) {
      await this.close()
      this.#active = { file: await open(this.#path(number), 'a', 0o600), number }
    }
    return this.#active.file
  }

  async #inspect(number: number): Promise<SpoolSegment> {
    const { texts, bytes } = decodeRecords(await readFile(this.#path(number)))
    const { size } = await stat(this.#path(number))
    return { number, bytes, size, records: texts.length }
  }

  /** Stored position. It may be empty after a power loss; then everything is sent again. */
  async #readCursor(): Promise<Position | undefined> {
    try {
      return Position.parse(JSON.parse(await readFile(join(this.#folder, 'cursor'), 'utf8')))
    } catch {
      return undefined
    }
  }
}
