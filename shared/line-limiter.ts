export interface LineLimit {
  /** Lines with the same message about the same subject that are written per window. */
  lines: number
  /** Lines with the same message, whatever they are about. */
  linesOfAll: number
  windowMs: number
  /** Monotonic clock, in milliseconds. */
  nowMs: () => number
}

interface Count {
  since: number
  lines: number
  suppressed: number
}

/**
 * Counts kept. Messages are constants of this program, and subjects are cells and keys that have
 * proven who they are.
 */
const MAX_COUNTS = 10_000

/** Bounds how often a line is written, so that one bad peer hides neither the others nor the disk. */
export class LineLimiter {
  readonly #limit: LineLimit
  readonly #counts = new Map<string, Count>()

  constructor(limit: LineLimit) {
    this.#limit = limit
  }

  /**
   * Returns the number of lines suppressed since the last one written, or undefined when this line
   * is suppressed too.
   */
  allow(message: string, subject: string): number | undefined {
    const { lines, linesOfAll } = this.#limit
    const own = this.#countOf(`${message}\n${subject}`)
    const all = this.#countOf(message)
    const full = own.lines >= lines ? own : all.lines >= linesOfAll ? all : undefined
    if (full !== undefined) {
      full.suppressed++
      return undefined
    }
    own.lines++
    all.lines++
    const suppressed = own.suppressed + all.suppressed
    own.suppressed = 0
    all.suppressed = 0
    return suppressed
  }

  #countOf(name: string): Count {
    const now = this.#limit.nowMs()
    const known = this.#counts.get(name)
    if (known !== undefined && now - known.since < this.#limit.windowMs) return known
    const count = { since: now, lines: 0, suppressed: known?.suppressed ?? 0 }
    // the map stays in the order of the windows, so that the oldest one is forgotten first
    this.#counts.delete(name)
    this.#counts.set(name, count)
    const [oldest] = this.#counts.keys()
    if (this.#counts.size > MAX_COUNTS && oldest !== undefined) this.#counts.delete(oldest)
    return count
  }
}
