import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { CacheEntry } from './cache-entry.ts'
import { decodeEntry, encodeEntry } from './cache-entry.ts'

interface DiskCacheParts {
  folder: string
  /** Limit of all files, in bytes of whole blocks. */
  maxBytes: number
  /** Receives each failure of the disk; the cache then goes on without the file. */
  onFault(error: unknown): void
}

const SUFFIX = '.entry'
const BLOCK_BYTES = 4096

/**
 * Answers on disk, one file each, the least recently used ones dropped at the bound. A file appears
 * whole or not at all, and one that was damaged all the same is a missing one.
 */
export class DiskCache {
  readonly #parts: DiskCacheParts
  /** Bytes of each file by key, the least recently used first. */
  readonly #files = new Map<string, number>()
  #bytes = 0
  /** Writes happen one after another, so that the bound holds. */
  #lastWrite: Promise<void> = Promise.resolve()

  private constructor(parts: DiskCacheParts) {
    this.#parts = parts
  }

  static async open(parts: DiskCacheParts): Promise<DiskCache> {
    const cache = new DiskCache(parts)
    await cache.#load().catch(parts.onFault)
    return cache
  }

  get bytes(): number {
    return this.#bytes
  }

  async read(key: string): Promise<CacheEntry | undefined> {
    const bytes = this.#files.get(key)
    if (bytes === undefined) return undefined
    this.#files.delete(key)
    this.#files.set(key, bytes)
    try {
      const entry = decodeEntry(await readFile(this.#path(key)))
      if (entry?.key === key) return entry
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.#parts.onFault(error)
    }
    await this.remove(key)
    return undefined
  }

  write(entry: CacheEntry): Promise<void> {
    this.#lastWrite = this.#lastWrite.then(() => this.#place(entry))
    return this.#lastWrite
  }

  async #place(entry: CacheEntry): Promise<void> {
    const file = encodeEntry(entry)
    const bytes = blocksOf(file.length)
    if (bytes > this.#parts.maxBytes) return
    const temporary = `${this.#path(entry.key)}.${randomUUID()}.new`
    try {
      await this.#makeRoom(bytes - (this.#files.get(entry.key) ?? 0))
      await writeFile(temporary, file, { mode: 0o600, flag: 'wx' })
      await rename(temporary, this.#path(entry.key))
      this.#note(entry.key, bytes)
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => {})
      this.#parts.onFault(error)
    }
  }

  async remove(key: string): Promise<void> {
    this.#bytes -= this.#files.get(key) ?? 0
    this.#files.delete(key)
    await rm(this.#path(key), { force: true }).catch(this.#parts.onFault)
  }

  async #makeRoom(bytes: number): Promise<void> {
    for (const key of this.#files.keys()) {
      if (this.#bytes + bytes <= this.#parts.maxBytes) return
      await this.remove(key)
    }
  }

  #note(key: string, bytes: number): void {
    this.#bytes += bytes - (this.#files.get(key) ?? 0)
    this.#files.delete(key)
    this.#files.set(key, bytes)
  }

  async #load(): Promise<void> {
    const { folder } = this.#parts
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const found: { key: string; bytes: number; at: number }[] = []
    for (const name of await readdir(folder)) {
      const path = join(folder, name)
      // a file that a crash left half written
      if (name.endsWith('.new')) await rm(path, { force: true })
      if (!name.endsWith(SUFFIX)) continue
      const { size, mtimeMs } = await stat(path)
      found.push({ key: name.slice(0, -SUFFIX.length), bytes: blocksOf(size), at: mtimeMs })
    }
    for (const { key, bytes } of found.toSorted((a, b) => a.at - b.at)) this.#note(key, bytes)
    await this.#makeRoom(0)
  }

  #path(key: string): string {
    return join(this.#parts.folder, `${key}${SUFFIX}`)
  }
}

const blocksOf = (bytes: number): number => Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES
