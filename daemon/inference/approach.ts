import type { EngineOptions, EngineParts } from './engine-options.ts'
import { checkGguf, type GgufFacts } from './gguf.ts'
import { memoryNeedBytes } from './memory/need.ts'
import { Progress } from './progress.ts'
import { checkWeights } from './weights.ts'

type Parts = Pick<EngineParts, 'clock' | 'fetch' | 'makeRoom' | 'onChange'>
type Options = Pick<EngineOptions, 'weights' | 'kind' | 'contextLength' | 'limits'>

/** The way of a model from its weights, wherever they are, to an engine that may start. */
export class Approach {
  readonly progress: Progress
  /** Tokens of one request, as far as it is known. */
  contextLength: number
  /** What the engine will take; undefined before the header was seen. */
  needBytes: number | undefined
  /** The memory counts as taken, though there is no process yet. */
  isPromised = false
  readonly #options: Options
  readonly #parts: Parts
  /** Ends what was begun last, whatever it waits for. */
  #abort = new AbortController()

  constructor(options: Options, parts: Parts) {
    this.#options = options
    this.#parts = parts
    this.contextLength = options.contextLength
    this.progress = new Progress(parts.clock, parts.onChange)
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
    const { weights, kind } = this.#options
    await this.#parts.fetch(weights, this.#during('downloading'), signal)
    this.#know(await checkWeights(weights, kind, signal, this.#during('checking')))
    if (signal.aborted) return
    const promise = (): void => {
      this.isPromised = true
    }
    const needBytes = this.needBytes ?? 0
    await this.#parts.makeRoom({ name, needBytes, mayEvict, signal, promise })
  }

  /** It has come to its end, whichever. */
  settle(): void {
    this.isPromised = false
    this.progress.end()
  }

  /** Whatever is on its way is not wanted any more. */
  end(): void {
    this.#abort.abort()
  }

  /** Finds out what a model that is not loaded would take; says nothing when it cannot. */
  async survey(): Promise<void> {
    const facts = await checkGguf(this.#options.weights.file).catch(() => undefined)
    if (facts !== undefined && this.needBytes === undefined) this.#know(facts)
  }

  #during(phase: 'downloading' | 'checking') {
    return (doneBytes: number, totalBytes?: number): void => {
      this.progress.begin(phase)
      if (totalBytes !== undefined) this.progress.at((100 * doneBytes) / totalBytes)
    }
  }

  #know(facts: GgufFacts): void {
    const { contextLength, limits, kind } = this.#options
    this.contextLength = Math.min(contextLength, facts.contextLength)
    const load = { slots: limits.slots, contextLength: this.contextLength, kind }
    this.needBytes = memoryNeedBytes(facts, load)
  }
}
