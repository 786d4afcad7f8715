import { stat } from 'node:fs/promises'
import { availableParallelism, cpus } from 'node:os'
import type { Logger } from 'pino'
import type { Clock } from '../clock.ts'
import type { SpawnEngine } from '../engine-child.ts'
import { fileStamp, type Weights } from '../weights.ts'
import { chooseLimits, type Limits, listTuningCandidates } from './choose.ts'
import { keep, readKept } from './kept.ts'
import { measureEngine } from './measure-engine.ts'

export interface TuningRequest {
  weights: Weights
  contextLength: number
  gpu: 'auto' | 'off'
  /** Values fixed by the configuration. */
  slots: number | undefined
  threads: number | undefined
  timeoutSeconds: number
  /**
   * Runs before a measuring process is started; the returned function is called when it has ended.
   * Its errors are passed on.
   */
  reserve?: () => Promise<() => void>
}

export interface TunerOptions {
  /** File with the results. */
  file: string
  /** Measure again whatever is kept. */
  again: boolean
}

interface TunerParts {
  spawn: SpawnEngine
  clock: Clock
  logger: Logger
  /** Unix time, milliseconds. */
  now: () => number
}

/** Smaller weights take less time for a token than is lost around it; nothing is to be gained. */
const LEAST_BYTES = 64 * 1024 * 1024

/** Time limit for all measurements of one engine. */
const BUDGET_MS = 4000

/** Finds out how many slots and threads serve some weights best on this machine, once. */
export class Tuner {
  readonly #options: TunerOptions
  readonly #parts: TunerParts
  readonly #measured = new Set<string>()
  /** Keys whose measurement failed; they are not measured again at every load. */
  readonly #failed = new Set<string>()

  constructor(options: TunerOptions, parts: TunerParts) {
    this.#options = options
    this.#parts = parts
  }

  /** Best limits; undefined when the defaults apply. */
  async limits(request: TuningRequest, life: AbortSignal): Promise<Limits | undefined> {
    if (request.slots !== undefined && request.threads !== undefined) return undefined
    const key = await keyOf(request)
    const again = this.#options.again && !this.#measured.has(key)
    const kept = again ? undefined : await readKept(this.#options.file, key)
    if (kept) return kept
    if (this.#failed.has(key)) return undefined
    if (!again && (await sizeOf(request.weights.file)) < LEAST_BYTES) return undefined
    return this.#measure(request, key, life)
  }

  async #measure(
    request: TuningRequest,
    key: string,
    life: AbortSignal,
  ): Promise<Limits | undefined> {
    const { logger, now } = this.#parts
    const { weights, contextLength, gpu, timeoutSeconds } = request
    const { label } = weights
    logger.info({ weights: label }, 'measuring how many slots and threads serve best')
    const candidates = listTuningCandidates(request, availableParallelism())
    const order = { file: weights.file, contextLength, gpu, budgetMs: BUDGET_MS, ...candidates }
    const gone = await request.reserve?.()
    const rows = await measureEngine(
      { type: 'measure', ...order },
      { ...this.#parts, life },
      timeoutSeconds,
    ).finally(gone)
    if (life.aborted) return undefined
    const limits = rows && chooseLimits(rows)
    if (limits === undefined) {
      this.#failed.add(key)
      logger.warn({ weights: label }, 'not measured; the defaults are used')
      return undefined
    }
    this.#measured.add(key)
    logger.info({ weights: label, ...limits, rows }, 'measured')
    await this.#keep(key, limits, now())
    return limits
  }

  /** Stores a result. A failure only means that the next start measures again. */
  async #keep(key: string, limits: Limits, measured_at: number): Promise<void> {
    await keep(this.#options.file, key, { ...limits, measured_at }).catch((error: Error) =>
      this.#parts.logger.warn({ reason: error.message }, 'measurement not stored'),
    )
  }
}

/** All that the result depends on. */
const keyOf = async (request: TuningRequest): Promise<string> => {
  const { weights, contextLength, gpu, slots, threads } = request
  const machine = `${cpus()[0]?.model ?? 'cpu'} x${availableParallelism()}`
  const wanted = `${slots ?? 'auto'} ${threads ?? 'auto'} ${contextLength} ${gpu}`
  return [weights.label, await fileStamp(weights.file), machine, wanted].join(' | ')
}

const sizeOf = async (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => 0,
  )
