import type { Completion, CompletionChunk } from '../../../../shared/wire/completions.ts'
import type { ChatCompletion, ChatCompletionChunk, Usage } from '../../../../shared/wire/openai.ts'
import type { StreamEvent } from '../event-reader.ts'
import { errorOf } from '../inner-answer.ts'
import type { Translation } from '../translated-answer.ts'
import { ollamaError } from './ollama-error.ts'
import { type CallParts, CallPieces, toOllamaCalls } from './tool-calls.ts'

interface AnswerParts {
  /** `chat` answers with a message, `generate` with a text. */
  shape: 'chat' | 'generate'
  /** Unix time, milliseconds. */
  now: () => number
  /** Monotonic time, milliseconds. */
  clock: () => number
}

type Chunk = ChatCompletionChunk | CompletionChunk
type Whole = ChatCompletion | Completion

/** Content of an answer, or of a piece of it. */
interface Content {
  text: string
  calls?: CallParts[]
  logprobs?: unknown
}

/** Translates one answer of a chat or text completion. */
export class AnswerLines implements Translation {
  readonly #parts: AnswerParts
  readonly #startedMs: number
  readonly #calls = new CallPieces()
  #model = ''
  #firstMs: number | undefined
  #finish: string | undefined
  #usage: Usage | undefined

  constructor(parts: AnswerParts) {
    this.#parts = parts
    this.#startedMs = parts.clock()
  }

  lines({ name, data }: StreamEvent): object[] {
    if (name === 'error') return [ollamaError(errorOf(data))]
    if (data === '[DONE]') return [this.#last({ text: '' })]
    return this.#chunk(JSON.parse(data) as Chunk)
  }

  #chunk({ model, choices, usage }: Chunk): object[] {
    this.#model = model
    this.#usage = usage ?? this.#usage
    const [choice] = choices
    if (choice === undefined) return []
    this.#finish = choice.finish_reason ?? this.#finish
    const { content, tool_calls } = 'delta' in choice ? choice.delta : { content: choice.text }
    this.#calls.add(tool_calls ?? [])
    const calls = choice.finish_reason === null ? [] : this.#calls.take()
    const piece = { text: content ?? '', calls, logprobs: tokenLogprobs(choice.logprobs) }
    if (piece.text === '' && calls.length === 0) return []
    this.#firstMs ??= this.#parts.clock()
    return [{ ...this.#head(), ...this.#content(piece), done: false }]
  }

  *whole(answer: unknown): Iterable<string> {
    const { model, choices, usage } = answer as Whole
    this.#model = model
    this.#usage = usage
    const [choice] = choices
    this.#finish = choice?.finish_reason
    const message = choice && 'message' in choice ? choice.message : undefined
    const text = message?.content ?? (choice && 'text' in choice ? choice.text : '')
    const calls = message?.tool_calls ?? []
    const logprobs = tokenLogprobs(choice?.logprobs)
    yield JSON.stringify(this.#last({ text, calls, logprobs }))
  }

  /** The object that ends an answer, with its figures. */
  #last(content: Content): object {
    const { clock } = this.#parts
    const endedMs = clock()
    const firstMs = this.#firstMs ?? this.#startedMs
    return {
      ...this.#head(),
      ...this.#content(content),
      done: true,
      done_reason: this.#finish === 'length' ? 'length' : 'stop',
      total_duration: nanoseconds(endedMs - this.#startedMs),
      load_duration: 0,
      prompt_eval_count: this.#usage?.prompt_tokens ?? 0,
      prompt_eval_duration: nanoseconds(firstMs - this.#startedMs),
      eval_count: this.#usage?.completion_tokens ?? 0,
      eval_duration: nanoseconds(endedMs - firstMs),
    }
  }

  #head(): object {
    return { model: this.#model, created_at: new Date(this.#parts.now()).toISOString() }
  }

  #content({ text, calls = [], logprobs }: Content): object {
    const more = logprobs === undefined ? {} : { logprobs }
    if (this.#parts.shape === 'generate') return { response: text, ...more }
    const tool_calls = toOllamaCalls(calls)
    const withCalls = tool_calls.length > 0 && { tool_calls }
    return { message: { role: 'assistant', content: text, ...withCalls }, ...more }
  }
}

/** Log-probabilities of a chat completion, which have the same form in Ollama's API. */
const tokenLogprobs = (logprobs: object | null | undefined): unknown => {
  const content = logprobs && 'content' in logprobs ? logprobs.content : undefined
  return Array.isArray(content) && content.length > 0 ? content : undefined
}

const nanoseconds = (milliseconds: number): number => Math.round(milliseconds * 1e6)
