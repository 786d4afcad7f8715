import { type FileHandle, open, stat } from 'node:fs/promises'

/** Error for a file that the engine must not load; the message states the reason in plain words. */
export class GgufError extends Error {
  override name = 'GgufError'
}

const WINDOW_BYTES = 64 * 1024

/** Reads a file forward through a small window. Every step is checked against the file's size. */
export class GgufReader {
  readonly fileBytes: number
  readonly #file: FileHandle
  readonly #window = Buffer.allocUnsafe(WINDOW_BYTES)
  #windowStart = 0
  #windowLength = 0
  #position = 0
  #limit: number

  private constructor(file: FileHandle, fileBytes: number, limitBytes: number) {
    this.#file = file
    this.fileBytes = fileBytes
    this.#limit = Math.min(fileBytes, limitBytes)
  }

  /** @param limitBytes reading beyond this is refused */
  static async open(path: string, limitBytes: number): Promise<GgufReader> {
    const { size } = await regularFile(path)
    return new GgufReader(await open(path, 'r'), size, limitBytes)
  }

  close(): Promise<void> {
    return this.#file.close()
  }

  get position(): number {
    return this.#position
  }

  /** Bytes that may still be read. */
  get left(): number {
    return this.#limit - this.#position
  }

  async u32(): Promise<number> {
    const at = await this.#need(4)
    return this.#window.readUInt32LE(at)
  }

  /** A count or an offset. @throws GgufError beyond 2^53, which no file can mean */
  async u64(): Promise<number> {
    const at = await this.#need(8)
    const value = this.#window.readBigUInt64LE(at)
    if (value > Number.MAX_SAFE_INTEGER) throw new GgufError(`the number ${value} is out of range`)
    return Number(value)
  }

  async bytes(length: number): Promise<Buffer> {
    if (length > this.left) this.#failShort()
    const result = Buffer.allocUnsafe(length)
    for (let done = 0; done < length; ) {
      const part = Math.min(length - done, WINDOW_BYTES)
      const at = await this.#need(part)
      this.#window.copy(result, done, at, at + part)
      done += part
    }
    return result
  }

  skip(length: number): void {
    if (length > this.left) this.#failShort()
    this.#position += length
  }

  /** Makes `length` bytes available, advances past them and returns their offset in the window. */
  async #need(length: number): Promise<number> {
    if (length > this.left) this.#failShort()
    const start = this.#position
    this.#position += length
    const inside =
      start >= this.#windowStart && start + length <= this.#windowStart + this.#windowLength
    if (!inside) await this.#fill(start, length)
    return start - this.#windowStart
  }

  async #fill(start: number, length: number): Promise<void> {
    this.#windowStart = start
    this.#windowLength = 0
    while (this.#windowLength < length) {
      const { bytesRead } = await this.#file.read(
        this.#window,
        this.#windowLength,
        WINDOW_BYTES - this.#windowLength,
        start + this.#windowLength,
      )
      if (bytesRead === 0) throw new GgufError('the file became shorter while it was read')
      this.#windowLength += bytesRead
    }
  }

  #failShort(): never {
    throw new GgufError(
      this.#limit < this.fileBytes
        ? `the header is longer than ${this.#limit} bytes`
        : `the file ends at byte ${this.fileBytes}, in the middle of its header`,
    )
  }
}

/** A pipe or a device would block for ever. */
const regularFile = async (path: string): Promise<{ size: number }> => {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new GgufError(explainUnreadable(path, error))
  })
  if (!found.isFile()) throw new GgufError('it is not a regular file')
  return found
}

const explainUnreadable = (path: string, { code, message }: NodeJS.ErrnoException): string => {
  if (code === 'ENOENT') return 'the file is not there'
  if (code !== 'EACCES') return message
  const isHome = /^\/(home|root|run\/user)\//.test(path)
  return isHome
    ? 'the user of shoald may not read it: its unit hides home folders (ProtectHome=), so put the file elsewhere, such as /srv/models'
    : 'the user of shoald may not read it'
}
