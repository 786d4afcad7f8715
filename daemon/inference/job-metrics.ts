import { ANSWER_SECONDS, Histogram, TOKEN_SECONDS } from '../../shared/metrics/histogram.ts'
import { Tally } from '../../shared/metrics/metric.ts'
import type { JobEvent } from './protocol.ts'

/** Times of one request's events, in milliseconds of a monotonic clock. */
export interface JobTimes {
  askedMs: number
  /** The newest piece of text; undefined before the first. */
  textMs: number | undefined
}

/** Statistics of one engine's requests since it was created. */
export class JobMetrics {
  /** Time until a slot was free. */
  readonly queueSeconds = new Histogram(ANSWER_SECONDS)
  /** Time from the request to its first piece of text, including queue and prompt. */
  readonly firstTokenSeconds = new Histogram(ANSWER_SECONDS)
  /** Time between two pieces of text; a piece is a token, or several that form a character. */
  readonly interTokenSeconds = new Histogram(TOKEN_SECONDS)
  /**
   * Requests per outcome: stop (also embeddings), length, cancelled, refused, turned_away, failed.
   */
  readonly ends = new Tally()
  promptTokens = 0
  cachedTokens = 0
  completionTokens = 0
  /** Prompts of which something was still in a slot. */
  prefixHits = 0
  prompts = 0

  begin(askedMs: number, nowMs: number): JobTimes {
    this.queueSeconds.observe((nowMs - askedMs) / 1000)
    return { askedMs, textMs: undefined }
  }

  /** Every event of the engine passes here: it costs some nanoseconds. */
  note(event: JobEvent, times: JobTimes, nowMs: number): void {
    if (event.type === 'echo') return
    if (event.type === 'text') this.#text(times, nowMs)
    else if (event.type === 'start') this.#prompt(event.promptTokens, event.cachedTokens)
    else if (event.type === 'vectors' || event.type === 'scores') {
      this.#prompt(event.promptTokens, 0)
      this.ends.add(['stop'])
    } else if (event.type === 'end') {
      this.completionTokens += event.completionTokens
      this.ends.add([event.reason])
    } else this.ends.add(['refused'])
  }

  /** No slot became free in time, or too many wait already. */
  countTurnedAway(): void {
    this.ends.add(['turned_away'])
  }

  /** Counts the requests that failed because the engine died. */
  countLost(jobs: number): void {
    if (jobs > 0) this.ends.add(['failed'], jobs)
  }

  #text(times: JobTimes, nowMs: number): void {
    if (times.textMs === undefined) this.firstTokenSeconds.observe((nowMs - times.askedMs) / 1000)
    else this.interTokenSeconds.observe((nowMs - times.textMs) / 1000)
    times.textMs = nowMs
  }

  #prompt(tokens: number, cached: number): void {
    this.prompts++
    this.promptTokens += tokens
    this.cachedTokens += cached
    if (cached > 0) this.prefixHits++
  }
}
