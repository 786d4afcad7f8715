import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const NEWLINE = 10

/**
 * A table of assigned names on disk: lines `key TAB name` in the order of their bytes, after a head
 * of lines that begin with `#`. It is loaded at its first lookup and searched as it lies in the file,
 * so it takes no more memory than the file has bytes. `bin/vendors.ts` writes such files.
 */
export class NameTable {
  readonly #file: string
  #lines: Buffer | undefined

  /** @param name File beside this one. */
  constructor(name: string) {
    this.#file = join(import.meta.dirname, name)
  }

  /** Name of a key, or undefined when the table lacks it. */
  find(key: string): string | undefined {
    this.#lines ??= readFileSync(this.#file)
    const lines = this.#lines
    const wanted = Buffer.from(`${key}\t`)
    let from = 0
    let to = lines.length
    while (from < to) {
      const middle = (from + to) >>> 1
      const start = middle === 0 ? 0 : lines.lastIndexOf(NEWLINE, middle - 1) + 1
      const end = lines.indexOf(NEWLINE, start)
      const order = wanted.compare(lines, start, Math.min(start + wanted.length, end))
      if (order === 0) return lines.toString('utf8', start + wanted.length, end)
      if (order > 0) from = end + 1
      else to = start
    }
    return undefined
  }
}
