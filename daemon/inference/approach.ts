import type { EngineOptions, EngineParts } from './engine-options.ts'
import { checkGguf, type GgufFacts } from './gguf.ts'
import { memoryNeedBytes } from './memory/need.ts'
import { LoadProgress } from './progress.ts'
import { checkWeights } from './weights.ts'

type Parts = Pick<EngineParts, 'clock' | 'fetch' | 'leftovers' | 'makeRoom' | 'onChange' | 'tuner'>
type Options = Omit<EngineOptions, 'models' | 'watchdogSeconds' | 'idleUnloadMinutes'>

/** Steps of a model from its weights, local or remote, to an engine that may start. */
export class Approach {
  readonly progress: LoadProgress
  /** Tokens of one request, once known; adopted by the next load when `askedContext` changes. */
  contextLength: number
  /** The most that any of the ids promises; the weights may allow less. */
  askedContext: number
  /** Chat requests at the same time, and CPU threads: as set, or as measured. */
  slots: number
  threads: number
  /** Memory the engine will need; undefined before the header was read. */
  needBytes: number | undefined
  /** Size of the weights, once they were seen on the disk. */
  fileBytes: number | undefined
  /** True while memory is reserved for a process that does not exist yet. */
  isPromised = false
  /** Reason why a file that is not loaded cannot be opened, as of the last look. */
  refusal: string | undefined
  /** Context of the weights; undefined before the header was read. */
  #ownContext: number | undefined
  readonly #options: Options
  readonly #parts: Parts
  /** Aborts the latest attempt. */
  #abort = new AbortController()

  constructor(options: Options, parts: Parts) {
    this.#options = options
    this.#parts = parts
    this.contextLength = options.contextLength
    this.askedContext = options.contextLength
    this.slots = options.limits.slots
    this.threads = options.threads
    this.progress = new LoadProgress(parts.clock, parts.onChange)
  }

  /** True when a request of this length fits, as far as the weights allow it at all. */
  holds(contextLength: number): boolean {
    return Math.min(contextLength, this.#ownContext ?? contextLength) <= this.contextLength
  }

  /** The answer aborts when the life does, or at `end`. */
  begin(life: AbortSignal): AbortSignal {
    this.#abort = new AbortController()
    return AbortSignal.any([life, this.#abort.signal])
  }

  /**
   * Everything that weights go through before an engine sees them.
   *
   * @throws DownloadError, GgufError, NoRoom
   */
  async run(name: string, mayEvict: boolean, signal: AbortSignal): Promise<void> {
    const facts = await this.#obtain(signal)
    if (signal.aborted) return
    const room = () => this.#room(name, mayEvict, signal)
    await this.#tune(facts, signal, async () => {
      this.#know(facts, 1)
      await room()
      return this.#parts.leftovers.add(name)
    })
    if (signal.aborted) return
    this.#know(facts)
    await room()
  }

  /** Downloads and checks the weights, and loads nothing. @throws DownloadError, GgufError */
  async pull(signal: AbortSignal): Promise<void> {
    const facts = await this.#obtain(signal)
    if (!signal.aborted) this.#know(facts)
  }

  async #obtain(signal: AbortSignal): Promise<GgufFacts> {
    const { weights, kind } = this.#options
    await this.#parts.fetch(weights, this.#trackDownload(), signal)
    return checkWeights(weights, kind, signal, this.#trackCheck())
  }

  #room(name: string, mayEvict: boolean, signal: AbortSignal): Promise<void> {
    const promise = (): void => {
      this.isPromised = true
    }
    const needBytes = this.needBytes ?? 0
    return this.#parts.makeRoom({ name, needBytes, mayEvict, signal, promise })
  }

  /** Marks the step as finished, successfully or not. */
  settle(): void {
    this.isPromised = false
    this.progress.end()
  }

  /** Cancels the step under way. */
  end(): void {
    this.#abort.abort()
  }

  /** Estimates the memory of a model that is not loaded; logs nothing on failure. */
  async survey(): Promise<void> {
    const { file, url, label } = this.#options.weights
    const facts = await checkGguf(file).catch((error: Error) => {
      // a download that is not there yet says nothing
      if (url === undefined && this.needBytes === undefined)
        this.refusal = `${label}: ${error.message}`
    })
    if (facts !== undefined && this.needBytes === undefined) this.#know(facts)
  }

  #trackDownload() {
    return (bytes: number, totalBytes: number | undefined): void => {
      this.progress.begin('downloading')
      this.progress.setBytes(bytes, totalBytes)
    }
  }

  #trackCheck() {
    return (doneBytes: number, totalBytes: number): void => {
      this.progress.begin('checking')
      this.progress.setPercent((100 * doneBytes) / totalBytes)
    }
  }

  /**
   * Adopts the fastest limits measured on this machine, unless they are fixed. A measurement needs
   * the memory of at least one slot, and counts as a process of the model.
   */
  async #tune(
    facts: GgufFacts,
    signal: AbortSignal,
    reserve: () => Promise<() => void>,
  ): Promise<void> {
    const { weights, kind, auto, limits, threads, gpu } = this.#options
    if (auto === undefined || kind !== 'chat') return
    const found = await this.#parts.tuner?.limits(
      {
        weights,
        gpu,
        contextLength: Math.min(this.askedContext, facts.contextLength),
        slots: auto.slots ? undefined : limits.slots,
        threads: auto.threads ? undefined : threads,
        timeoutSeconds: this.#options.loadTimeoutSeconds,
        reserve,
      },
      signal,
    )
    if (found === undefined || signal.aborted) return
    this.threads = found.threads
    this.slots = found.slots
  }

  #know(facts: GgufFacts, slots = this.slots): void {
    this.refusal = undefined
    const { kind } = this.#options
    this.fileBytes = facts.fileBytes
    this.#ownContext = facts.contextLength
    this.contextLength = Math.min(this.askedContext, facts.contextLength)
    const load = { slots, contextLength: this.contextLength, kind }
    this.needBytes = memoryNeedBytes(facts, load)
  }
}
