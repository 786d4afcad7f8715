import { Wakeup } from '../../../shared/wakeup.ts'
import type { AnswerListener, CellStream } from '../cells/cell-link.ts'
import { HeldPieces } from './held-pieces.ts'

interface LineLimits {
  /** Size limit of the whole answer. */
  maxBytes: number
  maxLineBytes: number
}

/** Lines that were not read wait up to this; then the cell waits. */
const MAX_WAITING_LINE_BYTES = 256 * 1024
const NEWLINE = 0x0a

/** An answer of a cell, read line by line, and no faster than its reader takes them. */
export class LineReader implements AnswerListener {
  readonly #limits: LineLimits
  readonly #status = Promise.withResolvers<number>()
  readonly #lines: string[] = []
  readonly #part = new HeldPieces()
  readonly #news = new Wakeup()
  #stream: CellStream | undefined
  #bytes = 0
  #waitingBytes = 0
  #isPaused = false
  #isClosed = false
  #failure: Error | undefined

  constructor(limits: LineLimits) {
    this.#limits = limits
    this.#status.promise.catch(() => {})
  }

  /** The stream of the answer; the link calls the listener only after it has returned it. */
  attach(stream: CellStream): void {
    this.#stream = stream
  }

  /** Rejects when the answer ends before its head. */
  get status(): Promise<number> {
    return this.#status.promise
  }

  /** Bytes of lines that wait for the reader. */
  get waitingBytes(): number {
    return this.#waitingBytes
  }

  /** The next line; undefined at the end. @throws Error when the answer was cut or too long */
  async read(): Promise<string | undefined> {
    for (;;) {
      const line = this.#lines.shift()
      if (line !== undefined) return this.#noteRead(line)
      if (this.#failure !== undefined) throw this.#failure
      if (this.#isClosed) return undefined
      await this.#news.wait()
    }
  }

  /** Stops the cell, unless its answer has ended. */
  cancel(): void {
    this.#stream?.cancel()
  }

  onHead(status: number): void {
    this.#status.resolve(status)
  }

  onData(piece: Buffer): boolean {
    this.#bytes += piece.length
    if (this.#bytes > this.#limits.maxBytes) this.#fail(`more than ${this.#limits.maxBytes} bytes`)
    else this.#split(piece)
    this.#news.wake()
    return false
  }

  onTrailers(): void {}

  onClose(isWhole: boolean): void {
    this.#isClosed = true
    if (isWhole) this.#add(this.#part.toBuffer())
    else this.#failure ??= new Error('the stream was cut')
    this.#status.reject(this.#failure ?? new Error('the answer has no head'))
    this.#news.wake()
  }

  #split(piece: Buffer): void {
    let start = 0
    for (let end = piece.indexOf(NEWLINE); end !== -1; end = piece.indexOf(NEWLINE, start)) {
      this.#add(this.#part.toBuffer(piece.subarray(start, end)))
      this.#part.clear()
      start = end + 1
    }
    this.#part.add(piece.subarray(start))
    const { maxLineBytes } = this.#limits
    if (this.#part.bytes > maxLineBytes) this.#fail(`a line of more than ${maxLineBytes} bytes`)
  }

  #add(line: Buffer): void {
    if (line.length === 0) return
    this.#lines.push(line.toString('utf8'))
    this.#waitingBytes += line.length
    if (this.#waitingBytes <= MAX_WAITING_LINE_BYTES || this.#isPaused) return
    this.#isPaused = true
    this.#stream?.pause()
  }

  #noteRead(line: string): string {
    this.#waitingBytes -= Buffer.byteLength(line)
    if (this.#isPaused && this.#waitingBytes <= MAX_WAITING_LINE_BYTES / 2) {
      this.#isPaused = false
      this.#stream?.resume()
    }
    return line
  }

  #fail(reason: string): void {
    this.#failure ??= new Error(reason)
    this.#part.clear()
    this.cancel()
  }
}
