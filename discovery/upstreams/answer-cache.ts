import { LRUCache } from 'lru-cache'
import type { CacheEntry } from './cache-entry.ts'
import type { DiskCache } from './disk-cache.ts'

/** Memory for answers that are on disk as well. */
const MEMORY_BYTES = 64 * 1024 * 1024
/** Memory of an answer with its parsed form, by byte of its body. */
const BYTES_PER_BYTE = 5

/** Answers in memory in front of those on disk, so that a full disk does not make shoal ask twice. */
export class AnswerCache {
  readonly #disk: DiskCache
  readonly #memory = new LRUCache<string, CacheEntry>({
    maxSize: MEMORY_BYTES,
    sizeCalculation: entry => BYTES_PER_BYTE * entry.body.length + 4096,
  })

  constructor(disk: DiskCache) {
    this.#disk = disk
  }

  async read(key: string): Promise<CacheEntry | undefined> {
    const known = this.#memory.get(key)
    if (known !== undefined) return known
    const entry = await this.#disk.read(key)
    if (entry !== undefined) this.#memory.set(key, entry)
    return entry
  }

  async write(entry: CacheEntry): Promise<void> {
    this.#memory.set(entry.key, entry)
    await this.#disk.write(entry)
  }
}
