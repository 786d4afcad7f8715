import { Breaker } from './breaker.ts'
import type { Fault } from './fault.ts'
import { MovingAverage } from './moving-average.ts'

/** Duration and size of one answer. */
export interface AnswerTiming {
  /** Time since the request was sent to the cell, in milliseconds. */
  durationMs: number
  /** Time until the first event of a stream; undefined for a whole answer. */
  firstByteMs: number | undefined
  /** Number of tokens read and generated. */
  tokens: number
  generatedTokens: number
  /** Size of the request's body. */
  requestBytes: number
}

/** Weight with which one answer enters the history that recent answers are compared with. */
const HISTORY_WEIGHT = 1 / 256
/** Bodies from this size on measure the reading of prompts; smaller ones measure the rest. */
const LONG_PROMPT_BYTES = 2048
/** Times the usual time per token above which an engine counts as slow. */
const SLOW_FACTOR = 3

/** Service of one engine of one cell, as this coordinator has seen it. Times are monotonic. */
export class EngineHealth {
  readonly breaker = new Breaker()
  /** Time to the first event of streams, in milliseconds. */
  readonly firstByteMs = new MovingAverage()
  /** Time to the first event per byte of a long request. */
  readonly msPerPromptByte = new MovingAverage()
  /** Time per generated token of recent answers. */
  readonly msPerToken = new MovingAverage()
  /** The same over a long time: the engine's own history. */
  readonly usualMsPerToken = new MovingAverage(HISTORY_WEIGHT)
  readonly serviceMs = new MovingAverage()
  served = 0
  failed = 0
  lastFault: Fault | undefined
  /** Most requests in flight at which one was served. */
  provenRequests = 0

  /** True when recent answers are much slower than the engine's own history. */
  get isSlow(): boolean {
    const usual = this.usualMsPerToken.mean
    return usual !== undefined && (this.msPerToken.mean ?? 0) > SLOW_FACTOR * usual
  }

  /** @param inFlight requests of this coordinator on the engine, this one included */
  noteServed(sentAtMs: number, inFlight: number, timing: AnswerTiming | undefined): void {
    this.served++
    this.provenRequests = Math.max(this.provenRequests, inFlight)
    this.breaker.noteServed(sentAtMs)
    if (timing !== undefined) this.#measure(timing)
  }

  #measure({ durationMs, firstByteMs, generatedTokens, requestBytes }: AnswerTiming): void {
    this.serviceMs.add(durationMs)
    if (firstByteMs !== undefined) {
      this.firstByteMs.add(firstByteMs)
      if (requestBytes >= LONG_PROMPT_BYTES) this.msPerPromptByte.add(firstByteMs / requestBytes)
    }
    if (generatedTokens === 0) return
    const ms = (durationMs - (firstByteMs ?? 0)) / generatedTokens
    this.msPerToken.add(ms)
    this.usualMsPerToken.add(ms)
  }
}
