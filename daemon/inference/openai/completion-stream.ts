import { ShoalError } from '../../../shared/errors.ts'
import type { CompletionChunk, CompletionRequest } from '../../../shared/wire/completions.ts'
import { HEADER_MAX_TOKENS } from '../../../shared/wire/link.ts'
import type { FinishReason } from '../../../shared/wire/openai.ts'
import type { ScoredToken } from '../protocol.ts'
import { type AnswerHead, promptHeaders } from './answer-head.ts'
import { completionLogprobs } from './completion-choice.ts'
import type { CompletionPlan, Runner } from './completion-order.ts'
import { CompletionTotals } from './completion-totals.ts'
import type { RouteContext } from './context.ts'
import { SseStream } from './event-stream.ts'
import type { HttpResponse } from './http.ts'

/** The answers of a legacy completion as chunks, one answer after another. */
export class StreamedCompletion {
  readonly #body: CompletionRequest
  readonly #head: AnswerHead
  readonly #plan: CompletionPlan
  readonly #totals: CompletionTotals
  readonly #stream: SseStream

  constructor(
    response: HttpResponse,
    body: CompletionRequest,
    head: AnswerHead,
    plan: CompletionPlan,
    repeat: RouteContext['repeat'],
  ) {
    this.#body = body
    this.#head = head
    this.#plan = plan
    this.#totals = new CompletionTotals(plan.asked)
    this.#stream = new SseStream(response, {
      headers: () => [
        ...promptHeaders(this.#totals.promptTokens),
        ...(this.#totals.lowered === undefined
          ? []
          : ([[HEADER_MAX_TOKENS, String(this.#totals.lowered)]] as [string, string][])),
      ],
      repeat,
      // the error makes it a reset on HTTP/2; its close then cancels the work
      onStalled: () =>
        response.destroy(new ShoalError('client_closed', 'the reader has stopped reading')),
    })
  }

  close(): void {
    this.#stream.close()
  }

  /** @throws ShoalError while nothing is sent */
  async run(run: Runner): Promise<void> {
    try {
      await this.#runAll(run)
    } catch (error) {
      this.#stream.close()
      if (!this.#stream.started || !(error instanceof ShoalError)) throw error
      this.#stream.fail(error)
    }
  }

  async #runAll(run: Runner): Promise<void> {
    let index = 0
    let isAlive = false
    for (const works of this.#plan.prompts)
      for (const [answer, work] of works.entries()) {
        let offset = 0
        await run(work, event => {
          this.#totals.count(event, answer === 0)
          if (event.type === 'start' && !isAlive) this.#stream.keepAlive()
          isAlive = true
          if (event.type === 'text' || event.type === 'echo') {
            this.#send(index, event.text, event.tokens ?? [], offset, null)
            offset += event.text.length
          } else if (event.type === 'end')
            this.#send(index, '', [], offset, event.reason === 'length' ? 'length' : 'stop')
        })
        index++
      }
    this.#end()
  }

  #send(
    index: number,
    text: string,
    tokens: readonly ScoredToken[],
    offset: number,
    finish: FinishReason | null,
  ): void {
    const wanted = this.#body.logprobs ?? null
    const hasNone = wanted === null || tokens.length === 0
    const logprobs = hasNone ? null : completionLogprobs(tokens, wanted, offset)
    this.#chunk({ choices: [{ index, text, logprobs, finish_reason: finish }] })
  }

  #end(): void {
    const { usage } = this.#totals
    if (this.#includeUsage) this.#stream.send({ ...this.#frame, choices: [], usage })
    this.#stream.finish(usage)
  }

  #chunk(part: Pick<CompletionChunk, 'choices'>): void {
    this.#stream.send({ ...this.#frame, ...part, ...(this.#includeUsage && { usage: null }) })
  }

  get #includeUsage(): boolean {
    return this.#body.stream_options?.include_usage === true
  }

  get #frame() {
    return { ...this.#head, object: 'text_completion' as const }
  }
}
