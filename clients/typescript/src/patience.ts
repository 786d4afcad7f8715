/** setTimeout takes no more, and would fire at once. */
const MOST_MS = 2 ** 31 - 1

/** Time limit for each wait for an answer, combined with the caller's signal. */
export class Patience {
  /** Aborts when no data has arrived for the time limit, or with the caller's signal. */
  readonly signal: AbortSignal
  readonly #late = new AbortController()
  readonly #caller: AbortSignal | undefined
  readonly #limitMs: number
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(limitMs: number, caller: AbortSignal | undefined) {
    this.#limitMs = Math.min(limitMs, MOST_MS)
    this.#caller = caller
    const late = this.#late.signal
    this.signal = caller === undefined ? late : AbortSignal.any([late, caller])
  }

  /** The caller does not want the answer any more. */
  get isLeft(): boolean {
    return this.#caller?.aborted === true
  }

  begin(): void {
    this.end()
    this.#timer = setTimeout(
      () => this.#late.abort(new Error(`nothing came for ${this.#limitMs / 1000} s`)),
      this.#limitMs,
    )
  }

  end(): void {
    clearTimeout(this.#timer)
  }
}
