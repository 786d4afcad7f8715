import { createHash, type Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * A partially downloaded file with its running digest. A file beside it stores the server's name
 * for its version.
 */
export class PartFile {
  /** Bytes that are there. */
  bytes = 0
  validator: string | undefined
  readonly #target: string
  readonly #file: FileHandle
  #hash: Hash = createHash('sha256')

  private constructor(target: string, file: FileHandle) {
    this.#target = target
    this.#file = file
  }

  /** @param resume continues a file of an earlier process, if its version is known */
  static async open(target: string, resume: boolean, signal: AbortSignal): Promise<PartFile> {
    await mkdir(dirname(target), { recursive: true, mode: 0o700 })
    const part = new PartFile(target, await open(partName(target), 'a+', 0o600))
    try {
      const validator = resume ? await readValidator(target) : undefined
      if (validator === undefined) await part.restart()
      else await part.#recall(validator, signal)
      return part
    } catch (error) {
      await part.close()
      throw error
    }
  }

  async #recall(validator: string, signal: AbortSignal): Promise<void> {
    this.validator = validator
    for await (const chunk of createReadStream(partName(this.#target), { signal })) {
      this.#hash.update(chunk)
      this.bytes += chunk.length
    }
  }

  /** Forgets everything. */
  async restart(): Promise<void> {
    await rm(validatorName(this.#target), { force: true })
    await this.#file.truncate(0)
    this.bytes = 0
    this.validator = undefined
    this.#hash = createHash('sha256')
  }

  /**
   * Records the version of the following bytes; without a validator the download cannot be resumed.
   */
  async belongsTo(validator: string | undefined): Promise<void> {
    this.validator = validator
    if (validator !== undefined) await writeFile(validatorName(this.#target), validator)
  }

  async append(chunk: Buffer): Promise<void> {
    await this.#file.appendFile(chunk)
    this.#hash.update(chunk)
    this.bytes += chunk.length
  }

  /** Digest of the contents so far, in lower-case hexadecimal. */
  digest(): string {
    return this.#hash.copy().digest('hex')
  }

  /** Gives it its name; it is on the disk when this resolves. */
  async finish(): Promise<void> {
    await this.#file.sync()
    await this.#file.close()
    await rename(partName(this.#target), this.#target)
    await rm(validatorName(this.#target), { force: true })
    const folder = await open(dirname(this.#target), 'r')
    await folder.sync().finally(() => folder.close())
  }

  /** Leaves it for another time. */
  async close(): Promise<void> {
    await this.#file.close()
  }

  async remove(): Promise<void> {
    await this.close()
    await rm(partName(this.#target), { force: true })
    await rm(validatorName(this.#target), { force: true })
  }
}

export const partName = (target: string): string => `${target}.part`
const validatorName = (target: string): string => `${target}.part.version`

const readValidator = async (target: string): Promise<string | undefined> => {
  const text = await readFile(validatorName(target), 'utf8').catch(() => '')
  // it becomes a header
  return /^[\x20-\x7e]{1,1024}$/.test(text) ? text : undefined
}
