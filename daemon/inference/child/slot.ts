import type {
  EvaluationPriority,
  LlamaContextSequence,
  SequenceEvaluateMetadataOptions,
  SequenceEvaluateOptions,
  Token,
} from 'node-llama-cpp'
import type { BatchScheduler } from './batch-scheduler.ts'
import type { SampledToken } from './chances.ts'
import { NO_TOP_K } from './sampling.ts'
import type { SlotView } from './slots.ts'
import type { Turnstile } from './turnstile.ts'

/** One sequence of the engine's context, kept for the life of the context. */
export class Slot implements SlotView {
  busy = false
  readonly id: number
  readonly #sequence: LlamaContextSequence
  readonly #batching: BatchScheduler
  readonly #turnstile: Turnstile
  readonly #options: Pick<SequenceEvaluateOptions, 'evaluationPriority' | 'contextShift'>

  constructor(
    id: number,
    sequence: LlamaContextSequence,
    batching: BatchScheduler,
    turnstile: Turnstile,
  ) {
    this.id = id
    this.#sequence = sequence
    this.#batching = batching
    this.#turnstile = turnstile
    this.#options = {
      // The only field of a queue entry that reaches the batching strategy; typed 1 to 5, not
      // checked, and read by nobody else.
      evaluationPriority: (id + 1) as EvaluationPriority,
      contextShift: { strategy: refuseShift },
    }
  }

  get tokens(): readonly Token[] {
    return this.#sequence.contextTokens
  }

  /**
   * Drops what the cache holds beyond the first `length` tokens and returns how many it holds now.
   * Models whose cache cannot be truncated lose all of it.
   */
  async keep(length: number): Promise<number> {
    const held = this.#sequence.nextTokenIndex
    const kept = length < held && this.#sequence.needsCheckpoints ? 0 : length
    if (kept === held) return kept
    await this.#turnstile.runClosed(() =>
      this.#sequence.eraseContextTokenRanges([{ start: kept, end: held }]),
    )
    return this.#sequence.nextTokenIndex
  }

  /** Runs `work` as one of the slots that the batching waits for. */
  async runActive(work: () => Promise<void>): Promise<void> {
    await this.#turnstile.closed
    this.#batching.active++
    try {
      await work()
    } finally {
      this.#batching.active--
    }
  }

  /** Promise to await between steps; undefined unless the slots are asked to pause. */
  pause(): Promise<void> | undefined {
    const closed = this.#turnstile.closed
    if (closed === undefined) return undefined
    this.#batching.active--
    return closed.then(() => {
      this.#batching.active++
    })
  }

  /** Reads a part of the prompt. */
  read(tokens: Token[]): Promise<void> {
    return this.#sequence.evaluateWithoutGeneratingNewTokens(tokens, this.#options)
  }

  /**
   * Reads a part of the prompt, and resolves to the chances of what follows each of its tokens, the
   * likeliest first, before temperature and everything else that shapes an answer.
   */
  async readWithChances(tokens: Token[]): Promise<Map<Token, number>[]> {
    const outputs = await this.#sequence.controlledEvaluate(
      tokens.map(token => [token, { generateNext: { probabilities: true, options: UNSHAPED } }]),
      this.#options,
    )
    return outputs.map(output => output?.next.probabilities ?? new Map())
  }

  /** Reads the rest of the prompt and yields the tokens of the answer, the ending one included. */
  generate(
    tokens: Token[],
    sampling: SequenceEvaluateOptions,
    metadata: SequenceEvaluateMetadataOptions,
  ): AsyncGenerator<SampledToken, void> {
    return this.#sequence.evaluateWithMetadata(tokens, metadata, {
      ...sampling,
      ...this.#options,
      yieldEogToken: true,
    })
  }
}

const UNSHAPED = { temperature: 1, topP: 1, minP: 0, topK: NO_TOP_K }

const refuseShift = (): never => {
  throw new Error('the context is full; its beginning is never dropped silently')
}
