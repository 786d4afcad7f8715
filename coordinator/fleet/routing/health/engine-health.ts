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
  /** Size of the request's body, without the part of its prompt that was cached. */
  uncachedBytes: number
}

/** Weight with which one answer enters the history that recent answers are compared with. */
const HISTORY_WEIGHT = 1 / 256
/** Part of the longest time per byte that remains after one more long prompt. */
const READING_MEMORY = 63 / 64
/** Bodies from this size on measure the reading of prompts; smaller ones measure the rest. */
const LONG_PROMPT_BYTES = 2048
/** Times the usual time per token above which an engine counts as slow. */
const SLOW_FACTOR = 3
/** Answers that an engine's history needs before recent ones are compared with it. */
const LEAST_HISTORY = 20

/** Service of one engine of one cell, as this coordinator has seen it. Times are monotonic. */
export class EngineHealth {
  readonly breaker = new Breaker()
  /** Time to the first event of streams, in milliseconds. */
  readonly firstByteMs = new MovingAverage()
  /** Longest time to the first event per byte of recent long prompts, in milliseconds. */
  mostMsPerPromptByte = 0
  /** Longest prompt that the engine has read for a stream, in bytes of the request. */
  longestPromptBytes = 0
  /** Time per generated token of recent answers. */
  readonly msPerToken = new MovingAverage()
  /** The same over a long time: the engine's own history. */
  readonly usualMsPerToken = new MovingAverage(HISTORY_WEIGHT)
  readonly serviceMs = new MovingAverage()
  served = 0
  failed = 0
  lastFault: Fault | undefined
  /** Most requests in flight at which one was served, or began to be answered. */
  provenRequests = 0
  /** Time at which the newest request that was served, or began to be, had been sent. */
  provenAtMs = Number.NEGATIVE_INFINITY

  /** True when recent answers are much slower than the engine's own history. */
  get isSlow(): boolean {
    const { count, mean = 0 } = this.usualMsPerToken
    return count >= LEAST_HISTORY && (this.msPerToken.mean ?? 0) > SLOW_FACTOR * mean
  }

  /** @param inFlight requests of this coordinator on the engine, this one included */
  noteServed(sentAtMs: number, inFlight: number, timing: AnswerTiming | undefined): void {
    this.served++
    this.noteBegun(sentAtMs, inFlight)
    this.breaker.noteServed(sentAtMs)
    if (timing !== undefined) this.#measure(timing)
  }

  /** Notes the first piece of a stream: a stream may last for hours before it counts as served. */
  noteBegun(sentAtMs: number, inFlight: number): void {
    this.provenRequests = Math.max(this.provenRequests, inFlight)
    this.provenAtMs = Math.max(this.provenAtMs, sentAtMs)
  }

  /**
   * Notes that a request was cut before its answer began. A long prompt doubles the limit of the
   * next one: otherwise a slow engine could never show that it is slow.
   */
  noteCut(requestBytes: number, waitedMs: number): void {
    if (requestBytes >= LONG_PROMPT_BYTES) this.#raiseReading(waitedMs / 2 / requestBytes)
  }

  #raiseReading(msPerByte: number): void {
    this.mostMsPerPromptByte = Math.max(this.mostMsPerPromptByte, msPerByte)
  }

  #measure({ durationMs, firstByteMs, generatedTokens, uncachedBytes }: AnswerTiming): void {
    this.serviceMs.add(durationMs)
    if (firstByteMs !== undefined) {
      this.firstByteMs.add(firstByteMs)
      this.longestPromptBytes = Math.max(this.longestPromptBytes, uncachedBytes)
      if (uncachedBytes >= LONG_PROMPT_BYTES) {
        this.mostMsPerPromptByte *= READING_MEMORY
        this.#raiseReading(firstByteMs / uncachedBytes)
      }
    }
    if (generatedTokens === 0) return
    const ms = (durationMs - (firstByteMs ?? 0)) / generatedTokens
    this.msPerToken.add(ms)
    this.usualMsPerToken.add(ms)
  }
}
