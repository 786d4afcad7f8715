import type { ShoalError } from '../../../shared/errors.ts'
import type { FinishReason, Usage } from '../../../shared/wire/openai.ts'
import type { EngineDoor } from '../engine-view.ts'
import type { EngineEvent, JobWork } from '../jobs.ts'
import type { TokenInfo } from '../protocol.ts'
import { type CallableFunctions, Choice, type ChoiceDelta } from './choice.ts'

/** Events of the answers to one request. Nothing follows `onEnd` or `onError`. */
export interface ChoicesListener {
  /** The first of them has begun. */
  onStart(facts: { maxTokens: number; promptTokens: number }): void
  /** The tokens of the deltas that follow, where they were asked for. */
  onTokens(index: number, tokens: readonly TokenInfo[]): void
  onDelta(index: number, delta: ChoiceDelta): void
  onFinish(index: number, finish: FinishReason): void
  onEnd(usage: Usage): void
  onError(error: ShoalError): void
}

interface ChoicesOptions {
  engine: EngineDoor
  /** One for each answer. */
  works: readonly JobWork[]
  /** Size of the prompt. */
  bytes: number
  /** Functions that may be called; undefined when none is to be looked for. */
  callable: CallableFunctions | undefined
  newId: () => string
}

/**
 * The answers to one request. Each takes a slot of its own; where there are fewer, they come one
 * after the other: only the first may be refused because others wait.
 */
export class Choices {
  readonly #listener: ChoicesListener
  readonly #choices: readonly Choice[]
  readonly #cancels: (() => void)[] = []
  #usage: Usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }
  #running: number
  #over = false

  /** @throws ShoalError when the engine does not take the request */
  constructor(
    { engine, works, bytes, callable, newId }: ChoicesOptions,
    listener: ChoicesListener,
  ) {
    this.#listener = listener
    this.#running = works.length
    this.#choices = works.map(() => new Choice(callable, newId))
    try {
      for (const [index, work] of works.entries()) {
        const follows = index > 0
        const hear = (event: EngineEvent): void => this.#hear(index, event)
        this.#cancels.push(engine.submit(work, follows ? 0 : bytes, hear, { follows }))
      }
    } catch (error) {
      this.cancel()
      throw error
    }
  }

  /** Ends all of them; nothing more is heard. */
  cancel(): void {
    this.#over = true
    for (const cancel of this.#cancels) cancel()
  }

  #hear(index: number, event: EngineEvent): void {
    if (this.#over) return
    if (event.type === 'start') this.#start(index, event)
    else if (event.type === 'text') this.#text(index, event.text, event.tokens ?? [])
    else if (event.type === 'end') this.#end(index, event)
    else if (event.type === 'error') {
      this.cancel()
      this.#listener.onError(event.error)
    }
  }

  /** The prompt counts once, whatever number of answers there are. */
  #start(index: number, event: Extract<EngineEvent, { type: 'start' }>): void {
    const { promptTokens, cachedTokens, maxTokens, callShape } = event
    this.#choices[index]?.start(callShape)
    if (this.#usage.prompt_tokens > 0) return
    this.#usage.prompt_tokens = promptTokens
    this.#usage.prompt_tokens_details = { cached_tokens: cachedTokens }
    this.#listener.onStart({ maxTokens, promptTokens })
  }

  #text(index: number, text: string, tokens: readonly TokenInfo[]): void {
    if (tokens.length > 0) this.#listener.onTokens(index, tokens)
    const choice = this.#choices[index] as Choice
    for (const delta of choice.take(text, tokens)) this.#listener.onDelta(index, delta)
  }

  #end(index: number, event: Extract<EngineEvent, { type: 'end' }>): void {
    const { deltas, finish } = (this.#choices[index] as Choice).end(event.reason)
    for (const delta of deltas) this.#listener.onDelta(index, delta)
    this.#listener.onFinish(index, finish)
    this.#usage.completion_tokens += event.completionTokens
    if (--this.#running > 0) return
    this.#over = true
    const { prompt_tokens, completion_tokens } = this.#usage
    this.#listener.onEnd({ ...this.#usage, total_tokens: prompt_tokens + completion_tokens })
  }
}
