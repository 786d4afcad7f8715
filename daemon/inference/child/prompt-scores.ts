import type { Token } from 'node-llama-cpp'
import type { ChatOrder, ScoredToken } from '../protocol.ts'
import { tokenInfo } from './chances.ts'
import type { Generation } from './generation.ts'
import { detokenizer, tokenizerOf } from './model.ts'
import { readEchoedText } from './raw-prompt.ts'
import { TokenText } from './text.ts'

/** Tokens between two looks at a cancellation; each brings the chances of the whole vocabulary. */
const CHUNK_TOKENS = 8

/** True when the log-probabilities of the prompt are wanted; evaluation suites score with them. */
export const isScored = ({ echo, topLogprobs }: ChatOrder): boolean =>
  echo === true && topLogprobs !== undefined

/**
 * Reads all of the prompt but its last token, which it resolves to, and emits the prompt with the
 * log-probability of each token after those before it, in the model's own distribution. Resolves to
 * undefined when cancelled.
 */
export const readScored = async (generation: Generation): Promise<Token[] | undefined> => {
  const { model, slot, order, isCancelled, emit } = generation
  const prompt = generation.prompt as readonly Token[]
  const last = prompt.length - 1
  const scores = new PromptScores(generation)
  scores.push(prompt[0] as Token)
  for (let at = 0; at < last; at += CHUNK_TOKENS) {
    if (isCancelled()) return undefined
    const chunk = prompt.slice(at, Math.min(at + CHUNK_TOKENS, last))
    for (const [index, chances] of (await slot.readWithChances(chunk)).entries())
      scores.push(prompt[at + index + 1] as Token, chances)
    await slot.pause()
  }
  emit({ type: 'echo', job: order.job, text: readEchoedText(model, order), tokens: scores.end() })
  return isCancelled() ? undefined : prompt.slice(last)
}

/** Scores tokens as they are read: the chances of a vocabulary are too large to keep. */
class PromptScores {
  readonly #model: Generation['model']
  readonly #wanted: number
  readonly #text: TokenText<Token>
  readonly #tokens: ScoredToken[] = []
  /** The next token is the beginning that was put before a text, and no part of it. */
  #isBeginning: boolean

  constructor({ model, order, prompt }: Generation) {
    this.#model = model
    this.#wanted = order.topLogprobs ?? 0
    this.#text = new TokenText(detokenizer(model))
    this.#isBeginning =
      typeof order.prompt === 'string' && prompt[0] === tokenizerOf(model).beginning
  }

  /** The first token has no logprob, as OpenAI has it. */
  push(token: Token, probabilities = new Map<Token, number>()): void {
    if (this.#isBeginning) {
      this.#isBeginning = false
      return
    }
    const text = this.#text.push(token)
    const confidence = probabilities.get(token) ?? 0
    const textOf = (other: Token): string => this.#model.detokenize([other])
    this.#tokens.push(
      this.#tokens.length === 0
        ? { text, logprob: null, top: [] }
        : tokenInfo({ token, confidence, probabilities }, text, this.#wanted, textOf),
    )
  }

  end(): readonly ScoredToken[] {
    const last = this.#tokens.at(-1)
    if (last !== undefined) last.text += this.#text.flush()
    return this.#tokens
  }
}
