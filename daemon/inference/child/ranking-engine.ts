import type { LlamaModel, LlamaRankingContext, Token } from 'node-llama-cpp'
import type { LoadOrder, RankOrder, StepCounts } from '../protocol.ts'
import type { Emit } from './generation.ts'
import { mostCharacters } from './model.ts'
import { createTooLongError } from './unservable-error.ts'
import { WholeInputSlots } from './whole-input-slots.ts'

/** Scores documents by their relevance to a query. */
export class RankingEngine {
  readonly #model: LlamaModel
  readonly #mostCharacters: number
  readonly #slots: WholeInputSlots<LlamaRankingContext>

  private constructor(
    model: LlamaModel,
    slots: WholeInputSlots<LlamaRankingContext>,
    contextLength: number,
  ) {
    this.#model = model
    this.#mostCharacters = mostCharacters(model, contextLength)
    this.#slots = slots
  }

  /** @throws Error for weights that cannot rank */
  static async create(
    model: LlamaModel,
    { slots, contextLength, threads }: LoadOrder,
    onStep: () => void,
  ): Promise<RankingEngine> {
    if (!model.fileInsights.supportsRanking)
      throw new Error('the weights have no ranking head, which a model of kind rerank needs')
    const contexts = await WholeInputSlots.create(slots, onStep, () =>
      model.createRankingContext({
        // The engine wants one more than the longest input, and the whole input in one step.
        contextSize: contextLength + 1,
        batchSize: contextLength + 1,
        threads,
      }),
    )
    return new RankingEngine(model, contexts, contextLength)
  }

  get counts(): StepCounts {
    return this.#slots.counts
  }

  run(order: RankOrder, emit: Emit, isCancelled: () => boolean): Promise<void> {
    return this.#slots.use(order.job, context => this.#rank(context, order, emit, isCancelled))
  }

  async #rank(
    context: LlamaRankingContext,
    order: RankOrder,
    emit: Emit,
    isCancelled: () => boolean,
  ): Promise<void> {
    const { job, contextLength } = order
    const query = this.#tokens(order.query, 'query', contextLength)
    const inputs = order.documents.map((document, index) => {
      const param = `documents.${index}`
      const tokens = this.#tokens(document, param, contextLength)
      const length = context.calculateInputLength(query, tokens)
      if (length > contextLength)
        throw createTooLongError(
          contextLength,
          `${param} and the query have ${length} tokens`,
          param,
        )
      return { tokens, length }
    })
    let promptTokens = 0
    const scores: number[] = []
    for (const { tokens, length } of inputs) {
      if (isCancelled()) {
        emit({ type: 'end', job, reason: 'cancelled', completionTokens: 0 })
        return
      }
      scores.push(await context.rank(query, tokens))
      promptTokens += length
      this.#slots.count(length)
    }
    emit({ type: 'scores', job, scores, promptTokens })
  }

  #tokens(text: string, param: string, contextLength: number): Token[] {
    if (text.length > this.#mostCharacters)
      throw createTooLongError(contextLength, `${param} has ${text.length} characters`, param)
    return this.#model.tokenize(text, false, 'trimLeadingSpace')
  }
}
