import type { LlamaEmbeddingContext, LlamaModel, Token } from 'node-llama-cpp'
import type { EmbedOrder, LoadOrder, StepCounts } from '../protocol.ts'
import type { Emit } from './generation.ts'
import { isKnownToken, mostCharacters } from './model.ts'
import { createTooLongError, UnservableError } from './unservable-error.ts'
import { WholeInputSlots } from './whole-input-slots.ts'

/** Turns texts into vectors. */
export class EmbeddingEngine {
  readonly #model: LlamaModel
  readonly #mostCharacters: number
  readonly #slots: WholeInputSlots<LlamaEmbeddingContext>

  private constructor(
    model: LlamaModel,
    slots: WholeInputSlots<LlamaEmbeddingContext>,
    contextLength: number,
  ) {
    this.#mostCharacters = mostCharacters(model, contextLength)
    this.#model = model
    this.#slots = slots
  }

  static async create(
    model: LlamaModel,
    { slots, contextLength, threads }: LoadOrder,
    onStep: () => void,
  ): Promise<EmbeddingEngine> {
    const contexts = await WholeInputSlots.create(slots, onStep, () =>
      model.createEmbeddingContext({
        // The engine wants one more than the longest input, and the whole input in one step.
        contextSize: contextLength + 1,
        batchSize: contextLength + 1,
        threads,
      }),
    )
    return new EmbeddingEngine(model, contexts, contextLength)
  }

  get counts(): StepCounts {
    return this.#slots.counts
  }

  run(order: EmbedOrder, emit: Emit, isCancelled: () => boolean): Promise<void> {
    return this.#slots.use(order.job, context => this.#embed(context, order, emit, isCancelled))
  }

  async #embed(
    context: LlamaEmbeddingContext,
    order: EmbedOrder,
    emit: Emit,
    isCancelled: () => boolean,
  ): Promise<void> {
    const inputs = order.inputs.map((input, index) => this.#tokens(context, input, index, order))
    let promptTokens = 0
    const vectors: Float32Array[] = []
    for (const input of inputs) {
      if (isCancelled()) {
        emit({ type: 'end', job: order.job, reason: 'cancelled', completionTokens: 0 })
        return
      }
      const { vector } = await context.getEmbeddingFor(input.tokens)
      vectors.push(normalize(vector))
      promptTokens += input.length
      this.#slots.count(input.length)
    }
    emit({ type: 'vectors', job: order.job, vectors, promptTokens })
  }

  /** `length` includes the tokens that the engine adds. */
  #tokens(
    context: LlamaEmbeddingContext,
    input: string | readonly number[],
    index: number,
    { contextLength }: EmbedOrder,
  ): { tokens: Token[]; length: number } {
    if (input.length > this.#mostCharacters) {
      throw createInputTooLongError(
        index,
        `has ${input.length} ${typeof input === 'string' ? 'characters' : 'tokens'}`,
        contextLength,
      )
    }
    const tokens =
      typeof input === 'string' ? this.#model.tokenize(input) : this.#checkTokens(input)
    const length = context.calculateInputLength(tokens)
    if (length > contextLength)
      throw createInputTooLongError(index, `has ${length} tokens`, contextLength)
    return { tokens, length }
  }

  #checkTokens(ids: readonly number[]): Token[] {
    const unknown = ids.find(id => !isKnownToken(this.#model, id))
    if (unknown === undefined) return [...ids] as Token[]
    throw new UnservableError(
      'invalid_request',
      `token ${unknown} is not in the vocabulary`,
      'input',
    )
  }
}

const createInputTooLongError = (
  index: number,
  size: string,
  contextLength: number,
): UnservableError => createTooLongError(contextLength, `input ${index} ${size}`, 'input')

/** Length 1, as OpenAI's are. A zero vector stays. */
const normalize = (vector: readonly number[]): Float32Array => {
  const length = Math.hypot(...vector)
  return Float32Array.from(vector, value => (length === 0 ? 0 : value / length))
}
