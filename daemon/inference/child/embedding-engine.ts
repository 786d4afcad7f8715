import type { LlamaEmbeddingContext, LlamaModel, Token } from 'node-llama-cpp'
import type { EmbedOrder, LoadOrder, StepCounts } from '../protocol.ts'
import type { Emit } from './generation.ts'
import { isKnownToken, mostCharacters } from './model.ts'
import { UnservableError } from './unservable-error.ts'

/** One embedding context per slot; each evaluates one text at a time. */
export class EmbeddingEngine {
  readonly counts: StepCounts = { steps: 0, width: 0, active: 0, tokens: 0 }
  readonly #model: LlamaModel
  readonly #mostCharacters: number
  readonly #free: LlamaEmbeddingContext[]
  readonly #onStep: () => void

  private constructor(
    model: LlamaModel,
    contexts: LlamaEmbeddingContext[],
    order: LoadOrder,
    onStep: () => void,
  ) {
    this.#mostCharacters = mostCharacters(model, order.contextLength)
    this.#model = model
    this.#free = contexts
    this.#onStep = onStep
  }

  static async create(
    model: LlamaModel,
    order: LoadOrder,
    onStep: () => void,
  ): Promise<EmbeddingEngine> {
    const contexts: LlamaEmbeddingContext[] = []
    while (contexts.length < order.slots) {
      contexts.push(
        await model.createEmbeddingContext({
          // The engine wants one more than the longest input, and the whole input in one step.
          contextSize: order.contextLength + 1,
          batchSize: order.contextLength + 1,
          threads: order.threads,
        }),
      )
    }
    return new EmbeddingEngine(model, contexts, order, onStep)
  }

  async run(order: EmbedOrder, emit: Emit, isCancelled: () => boolean): Promise<void> {
    const context = this.#free.pop()
    if (context === undefined) throw new Error(`no slot is free for job ${order.job}`)
    try {
      await this.#embed(context, order, emit, isCancelled)
    } finally {
      this.#free.push(context)
    }
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
      this.#count(input.length)
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
      throw createInputTooLongError(index, `is ${input.length} long`, contextLength)
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

  #count(tokens: number): void {
    this.counts.steps++
    this.counts.width++
    this.counts.active++
    this.counts.tokens += tokens
    this.#onStep()
  }
}

const createInputTooLongError = (
  index: number,
  size: string,
  contextLength: number,
): UnservableError =>
  new UnservableError(
    'context_length_exceeded',
    `input ${index} ${size}; the model takes ${contextLength} tokens`,
    'input',
  )

/** Length 1, as OpenAI's are. A zero vector stays. */
const normalize = (vector: readonly number[]): Float32Array => {
  const length = Math.hypot(...vector)
  return Float32Array.from(vector, value => (length === 0 ? 0 : value / length))
}
