import { LlamaGrammarEvaluationState, type LlamaModel } from 'node-llama-cpp'
import { wholeGrammar } from '../grammar/call-grammar.ts'
import type { ChatOrder } from '../protocol.ts'
import type { CallShape } from '../tool-syntax.ts'
import { CallWatch } from './call-watch.ts'
import { UnservableError } from './unservable-error.ts'

type Wanted = Pick<ChatOrder, 'grammar' | 'calls'>

/** Grammar that constrains an answer, from its beginning or while it writes a call. */
export class AnswerHold {
  /** Nothing more is wanted: the one call that was allowed is complete. */
  ended = false
  /** A grammar is made for the next token; it takes no longer than to parse it. */
  opening: Promise<void> | undefined
  readonly param: string
  readonly #model: LlamaModel
  readonly #watch: CallWatch | undefined
  readonly #parallel: boolean
  #state: LlamaGrammarEvaluationState | undefined
  #isChoosing = false

  private constructor(model: LlamaModel, { grammar, calls }: Wanted, shape: CallShape) {
    this.#model = model
    this.param = calls?.param ?? grammar?.param ?? ''
    this.#parallel = calls?.parallel ?? true
    this.#watch = calls && !calls.whole ? new CallWatch(shape, calls) : undefined
  }

  /**
   * Creates the hold of an answer; undefined for one that is free.
   *
   * @throws UnservableError when the engine takes no such grammar
   */
  static async create(
    model: LlamaModel,
    order: Wanted,
    shape: CallShape,
  ): Promise<AnswerHold | undefined> {
    const { grammar, calls } = order
    if (grammar === undefined && calls === undefined) return undefined
    const hold = new AnswerHold(model, order, shape)
    const whole = calls?.whole ? wholeGrammar(shape, calls) : grammar?.text
    if (whole !== undefined) await hold.#begin(whole)
    return hold
  }

  /** State of the grammar, which the engine asks for before it chooses each token. */
  readonly grammarEvaluationState = (): LlamaGrammarEvaluationState | undefined => {
    this.#isChoosing = this.#state !== undefined
    return this.#state
  }

  /** Follows the answer, with the text that each token has added. */
  follow(piece: string): void {
    this.#isChoosing = false
    const turn = this.#watch?.push(piece)
    this.opening = turn?.type === 'hold' ? this.#begin(turn.grammar) : undefined
    // The result is unused when this was the last token
    this.opening?.catch(() => {})
    if (turn?.type === 'release') this.#release()
  }

  /**
   * A grammar that leaves none of the model's tokens makes the engine fail while it chooses one.
   * That is the request's fault, and must not count against the engine; all other failures are the
   * engine's.
   */
  blame(error: Error): Error {
    if (!this.#isChoosing) return error
    const message = `the model cannot produce what ${this.param} requires: ${error.message}`
    return new UnservableError('invalid_request', message, this.param)
  }

  #release(): void {
    this.#state = undefined
    this.ended = !this.#parallel
  }

  async #begin(text: string): Promise<void> {
    const model = this.#model
    const grammar = await model.llama.createGrammar({ grammar: text }).catch((error: Error) => {
      const message = `the engine rejects the grammar of ${this.param}: ${error.message}`
      throw new UnservableError('unsupported_parameter', message, this.param)
    })
    this.#state = new LlamaGrammarEvaluationState({ model, grammar })
  }
}
