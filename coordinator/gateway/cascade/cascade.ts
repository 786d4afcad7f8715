import { HEADER_CONFIDENCE } from '../../../shared/wire/link.ts'
import type { AnswerHeaders } from '../../fleet/cells/cell-link.ts'
import type { DeclinedAnswer, Dispatch, DispatchResult } from '../dispatch/dispatch-request.ts'
import type { CascadeStep } from './cascade-steps.ts'

interface CascadeParts {
  steps: readonly CascadeStep[]
  ask: (model: string, how: CascadeRequest) => Promise<DispatchResult>
  /** Returns whether a cell is available for the model now. */
  serves: (model: string) => boolean
  /** Runs before the client gets a head, with every model asked so far; the last one answers. */
  trail: (steps: readonly CascadeAttempt[]) => void
  /** Unix time, milliseconds. */
  now: () => number
}

interface CascadeRequest extends Pick<Dispatch, 'accept'> {
  /** The answer is to carry its confidence. */
  judge: boolean
  quiet: boolean
  /** Answers that nobody gets, as of now: to be recorded together with the one that is given. */
  listDiscarded: () => readonly DiscardedAnswer[]
}

export interface CascadeAttempt {
  model: string
  /** Mean natural log-probability of a token. */
  confidence?: number
}

export interface DiscardedAnswer {
  model: string
  answer: DeclinedAnswer
  durationMs: number
}

/**
 * The intelligence cascade: the smallest model answers first, and one that is not confident enough
 * gives way to the next larger. When no larger one can answer, the smaller one's answer is used: a
 * whole one was kept, a stream is asked for again, because keeping it open would hold a slot of
 * the cell for as long as the larger model needs to begin.
 */
export const cascade = (parts: CascadeParts): Promise<void> => new Cascade(parts).run()

class Cascade {
  readonly #parts: CascadeParts
  readonly #trail: CascadeAttempt[] = []
  #declined: DiscardedAnswer[] = []

  constructor(parts: CascadeParts) {
    this.#parts = parts
  }

  async run(): Promise<void> {
    const { steps } = this.#parts
    try {
      for (const [index, step] of steps.entries())
        if (await this.#step(step, steps.slice(index + 1))) return
      await this.#fallBack()
    } finally {
      for (const { answer } of this.#declined) answer.discard()
    }
  }

  /** True when the client has its answer. */
  async #step(step: CascadeStep, larger: readonly CascadeStep[]): Promise<boolean> {
    const { now } = this.#parts
    const asked: CascadeAttempt = { model: step.model }
    const isLast = larger.length === 0
    const startedAt = now()
    const ending = await this.#ask(asked, {
      judge: !isLast,
      quiet: !isLast || this.#declined.length > 0,
      accept: (status, headers) => this.#accept(asked, step, larger, status, headers),
    })
    if (ending.kind === 'declined') {
      const { model } = step
      this.#declined.push({ model, answer: ending, durationMs: now() - startedAt })
    }
    return ending.kind === 'done'
  }

  #ask(asked: CascadeAttempt, how: Omit<CascadeRequest, 'listDiscarded'>): Promise<DispatchResult> {
    this.#trail.push(asked)
    this.#parts.trail(this.#trail)
    return this.#parts.ask(asked.model, { ...how, listDiscarded: () => this.#declined })
  }

  /**
   * Returns whether the client gets the answer. A larger model may accept what this one refuses,
   * because its context may be longer. It may also be shorter, and then an answer that is already
   * available is better than the refusal.
   */
  #accept(
    asked: CascadeAttempt,
    { minimumConfidence }: CascadeStep,
    larger: readonly CascadeStep[],
    status: number,
    headers: AnswerHeaders,
  ): boolean {
    const confidence = Number(headers[HEADER_CONFIDENCE] ?? Number.NaN)
    const isKnown = Number.isFinite(confidence)
    if (isKnown) asked.confidence = confidence
    this.#parts.trail(this.#trail)
    if (status !== 200 && this.#declined.some(({ answer }) => answer.httpStatus === 200))
      return false
    const isGood = status === 200 && !(isKnown && confidence < minimumConfidence)
    return isGood || !larger.some(({ model }) => this.#parts.serves(model))
  }

  /** No larger model could answer: the answer of the largest that did; else what it was refused. */
  async #fallBack(): Promise<void> {
    const best =
      this.#declined.findLast(({ answer }) => answer.httpStatus === 200) ?? this.#declined.at(-1)
    if (best === undefined) return
    const asked = this.#trail.findLast(({ model }) => model === best.model) ?? best
    const { deliver } = best.answer
    if (deliver === undefined) {
      await this.#ask({ model: best.model }, { judge: false, quiet: false })
      return
    }
    this.#declined = this.#declined.filter(other => other !== best)
    this.#parts.trail([...this.#trail, asked])
    await deliver()
  }
}
