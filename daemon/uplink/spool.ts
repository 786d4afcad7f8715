import type { Logger } from 'pino'
import { randomId } from '../../shared/ids.ts'
import { decodeRecords, encodeRecord } from './records.ts'
import { type Append, type Position, SegmentFiles, type SpoolSegment } from './segments.ts'

interface SpoolOptions {
  folder: string
  /** The files never take more than this on the disk. */
  maxBytes: number
  /** Records dropped when the spool is full; `nothing` rejects new ones instead. */
  makesRoom?: 'oldest' | 'nothing'
  /** Records that are sent together. */
  batchRecords?: number
  /** Bytes of a batch, which is the size of the largest record too. */
  batchBytes?: number
  /** Number of ended connections after which a batch in flight is given up. */
  maxAttempts?: number
  logger: Logger
  append?: Append
}

/** Neighbouring records that are sent as one message. The id stays the same when sent again. */
export interface Batch {
  id: string
  texts: string[]
  bytes: number
  /** Number of connections that ended while this record was in flight. */
  attempts: number
}

interface Claim {
  batch: Batch
  end: Position
  state: 'claimed' | 'sent' | 'waiting' | 'done'
}

const BATCH_RECORDS = 50
/** A batch of history is one MQTT packet, which may go to an older coordinator: 256 KiB there. */
const BATCH_BYTES = 192 * 1024
const MAX_ATTEMPTS = 3
const MAX_SEGMENT_BYTES = 1024 * 1024
/** Room for the cursor and its replacement. */
const CURSOR_BYTES = 512
/** Records that may wait for a slow disk. */
const MAX_PENDING = 256

/**
 * A queue on disk that survives the process. When it is full, the oldest records are dropped or new
 * ones are refused; losses are counted. It is the only place that sends a message again: a batch is
 * offered until it is acknowledged, or until a number of connections ended while it was in flight.
 */
export class Spool {
  readonly #files: SegmentFiles
  #maxBytes: number
  #segmentBytes: number
  readonly #makesRoom: 'oldest' | 'nothing'
  readonly #batchRecords: number
  readonly #batchBytes: number
  readonly #maxAttempts: number
  readonly #logger: Logger
  #segments: SpoolSegment[] = []
  /** Position of the next unread record. */
  #at: Position = { segment: 0, offset: 0, record: 0 }
  #claims: Claim[] = []
  #dropped = 0
  #pending = 0
  #last: Promise<unknown> = Promise.resolve()

  static async open(options: SpoolOptions): Promise<Spool> {
    const spool = new Spool(options)
    await spool.#load()
    return spool
  }

  private constructor({ folder, maxBytes, logger, append, ...how }: SpoolOptions) {
    this.#makesRoom = how.makesRoom ?? 'oldest'
    this.#batchRecords = how.batchRecords ?? BATCH_RECORDS
    this.#batchBytes = how.batchBytes ?? BATCH_BYTES
    this.#maxAttempts = how.maxAttempts ?? MAX_ATTEMPTS
    this.#files = new SegmentFiles(folder, append)
    this.#maxBytes = maxBytes - CURSOR_BYTES
    this.#segmentBytes = segmentBytesFor(this.#maxBytes)
    this.#logger = logger
  }

  /** Records lost since the start: no room, a disk that failed, or three failed sendings. */
  get dropped(): number {
    return this.#dropped
  }

  /** Bytes on the disk. */
  get bytes(): number {
    return this.#segments.reduce((sum, segment) => sum + segment.size, 0)
  }

  /** Sets another bound; the oldest records go when there are too many. */
  limit(maxBytes: number): void {
    this.#maxBytes = maxBytes - CURSOR_BYTES
    this.#segmentBytes = segmentBytesFor(this.#maxBytes)
    this.#runInTurn(async () => {
      // the file that is written may be larger than a whole spool may be now
      this.#addSegment()
      await this.#makeRoom(0)
    }).catch(error => this.#logger.warn({ reason: error.message }, 'spool not shortened'))
  }

  /** Adds a record. It never throws and does not wait: a failure is counted. */
  append(text: string): void {
    if (this.#pending >= MAX_PENDING) {
      this.#drop(1, 'the disk is too slow')
      return
    }
    this.#pending++
    this.#runInTurn(() => this.#write(encodeRecord(text)))
      .catch(error => this.#drop(1, error.message))
      .finally(() => this.#pending--)
  }

  /** Adds a record that is on the disk when this resolves. Rejects when it is not kept. */
  keep(text: string): Promise<void> {
    return this.#runInTurn(async () => {
      await this.#write(encodeRecord(text))
      await this.#files.sync()
    })
  }

  /** The oldest batch that is not in flight, or undefined when there is none. */
  next(): Promise<Batch | undefined> {
    return this.#runInTurn(async () => {
      const waiting = this.#claims.find(claim => claim.state === 'waiting')
      const claim = waiting ?? (await this.#claimNext())
      if (claim) claim.state = 'claimed'
      return claim?.batch
    })
  }

  /** The batch goes onto the connection now. */
  markSent(batch: Batch): void {
    this.#set(batch, 'sent')
  }

  /** The coordinator has it. */
  markDone(batch: Batch): void {
    this.#set(batch, 'done')
    this.#commit()
  }

  /** Offers batches in flight again after the connection has ended. */
  release(): void {
    for (const claim of this.#claims) {
      if (claim.state === 'sent') claim.batch.attempts++
      if (claim.state !== 'done') claim.state = 'waiting'
      if (claim.batch.attempts < this.#maxAttempts) continue
      claim.state = 'done'
      this.#drop(claim.batch.texts.length, `not confirmed after ${this.#maxAttempts} attempts`)
    }
    this.#commit()
  }

  /** Resolves when all earlier operations are on disk. */
  async flush(): Promise<void> {
    await this.#runInTurn(async () => {})
  }

  async close(): Promise<void> {
    await this.#runInTurn(() => this.#files.close())
  }

  async #load(): Promise<void> {
    const { segments, cursor } = await this.#files.load()
    this.#segments = segments
    for (const { number, bytes, size } of segments)
      if (size > bytes) this.#logger.warn({ number, bytes: size - bytes }, 'torn spool segment')
    const found = segments.find(({ number }) => number === cursor?.segment)
    const known = found && cursor && cursor.offset <= found.bytes ? cursor : undefined
    this.#at = known ?? { segment: segments[0]?.number ?? 1, offset: 0, record: 0 }
    await this.#forgetBefore(this.#at.segment)
    await this.#makeRoom(0)
    // never add to a file of an earlier life: its tail may be torn
    this.#addSegment()
  }

  #addSegment(): SpoolSegment {
    const last = this.#segments.at(-1)?.number ?? 0
    const number = Math.max(last + 1, this.#at.segment)
    const segment = { number, bytes: 0, size: 0, records: 0 }
    this.#segments.push(segment)
    return segment
  }

  async #write(data: Buffer): Promise<void> {
    if (data.length > Math.min(this.#batchBytes, this.#segmentBytes))
      throw new Error('the record is too large')
    let segment = this.#segments.at(-1) as SpoolSegment
    const torn = segment.size > segment.bytes
    if (torn || segment.bytes + data.length > this.#segmentBytes) segment = this.#addSegment()
    await this.#makeRoom(data.length)
    await this.#files.append(segment, data)
  }

  /**
   * Removes the oldest segments until this number of bytes fits, unless the spool must keep them.
   */
  async #makeRoom(bytes: number): Promise<void> {
    if (this.#makesRoom === 'nothing') {
      if (bytes > 0 && this.bytes + bytes > this.#maxBytes) throw new Error('the spool is full')
      return
    }
    for (let oldest = this.#segments[0]; oldest; oldest = this.#segments[0]) {
      if (this.bytes + bytes <= this.#maxBytes) return
      const read = oldest.number === this.#at.segment ? this.#at.record : 0
      if (oldest.number >= this.#at.segment) this.#drop(oldest.records - read, 'the spool is full')
      await this.#forgetBefore(oldest.number + 1)
    }
  }

  async #forgetBefore(number: number): Promise<void> {
    for (const segment of this.#segments.filter(segment => segment.number < number))
      await this.#files.remove(segment.number)
    this.#segments = this.#segments.filter(segment => segment.number >= number)
    if (this.#at.segment < number) this.#at = { segment: number, offset: 0, record: 0 }
  }

  async #claimNext(): Promise<Claim | undefined> {
    for (;;) {
      const segment = this.#segments.find(({ number }) => number >= this.#at.segment)
      if (segment === undefined) return undefined
      if (segment.number > this.#at.segment)
        this.#at = { segment: segment.number, offset: 0, record: 0 }
      if (this.#at.record < segment.records) {
        const claim = await this.#read(segment)
        if (claim) return claim
      }
      if (segment === this.#segments.at(-1)) return undefined
      this.#at = { segment: segment.number + 1, offset: 0, record: 0 }
    }
  }

  async #read(segment: SpoolSegment): Promise<Claim | undefined> {
    const wanted = Math.min(this.#batchBytes, segment.bytes - this.#at.offset)
    const data = await this.#files.read(this.#at, wanted).catch(() => Buffer.alloc(0))
    const { texts, bytes } = decodeRecords(data, this.#batchRecords)
    if (texts.length === 0) return this.#giveUp(segment)
    const { offset, record } = this.#at
    this.#at = { ...this.#at, offset: offset + bytes, record: record + texts.length }
    const batch = { id: randomId(), texts, bytes, attempts: 0 }
    const claim: Claim = { batch, end: this.#at, state: 'claimed' }
    this.#claims.push(claim)
    return claim
  }

  /** The rest of a segment cannot be read any more. */
  #giveUp(segment: SpoolSegment): undefined {
    this.#drop(segment.records - this.#at.record, 'a spool segment is damaged')
    this.#at = { segment: segment.number, offset: segment.bytes, record: segment.records }
  }

  #set(batch: Batch, state: Claim['state']): void {
    const claim = this.#claims.find(claim => claim.batch === batch)
    if (claim) claim.state = state
  }

  /** Moves the cursor over everything that is done from the beginning on. */
  #commit(): void {
    let end: Position | undefined
    while (this.#claims[0]?.state === 'done') end = this.#claims.shift()?.end
    if (end === undefined) return
    const cursor = end
    this.#runInTurn(async () => {
      await this.#forgetBefore(cursor.segment)
      await this.#files.writeCursor(cursor)
    }).catch(error => this.#logger.warn({ reason: error.message }, 'spool cursor not written'))
  }

  #drop(records: number, reason: string): void {
    if (records === 0) return
    this.#dropped += records
    this.#logger.warn({ records, reason }, 'spool dropped records')
  }

  /** Runs one access to the files at a time, in order. */
  #runInTurn<T>(step: () => Promise<T>): Promise<T> {
    const result = this.#last.then(step)
    this.#last = result.catch(() => {})
    return result
  }
}

const segmentBytesFor = (maxBytes: number): number =>
  Math.min(MAX_SEGMENT_BYTES, Math.floor(maxBytes / 4))
