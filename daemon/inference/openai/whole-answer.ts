import type { ShoalError } from '../../../shared/errors.ts'
import type { ChatCompletion, FinishReason, Usage } from '../../../shared/wire/openai.ts'
import type { ToolCall } from '../../../shared/wire/openai-tools.ts'
import type { TokenInfo } from '../protocol.ts'
import { type AnswerHead, formatLimitHeaders } from './answer-head.ts'
import type { AnswerShape } from './answer-shape.ts'
import type { ChoiceDelta } from './choice.ts'
import type { ChoicesListener } from './choices.ts'
import { announceUsage, endWithUsage, type HttpResponse, sendError } from './http.ts'
import { Judge } from './judge.ts'
import { choiceLogprobs } from './logprobs.ts'

export interface AnswerOptions {
  head: AnswerHead
  /** The most tokens that the caller wanted. */
  asked: number | undefined
  logprobs: boolean
  /** Number of answers. */
  n: number
  /** Tokens that are held back for the coordinator's judgement; undefined when it makes none. */
  judgeTokens: number | undefined
  shape: AnswerShape
}

/** All answers in one piece. */
export class WholeAnswer implements ChoicesListener {
  readonly #response: HttpResponse
  readonly #options: AnswerOptions
  readonly #gathered: readonly GatheredChoice[]
  readonly #judge: Judge
  #headers: [string, string][] = []

  constructor(response: HttpResponse, options: AnswerOptions) {
    this.#response = response
    this.#options = options
    this.#gathered = Array.from({ length: options.n }, () => new GatheredChoice())
    this.#judge = new Judge(options.judgeTokens === undefined ? undefined : Infinity)
  }

  onStart({ maxTokens }: { maxTokens: number }): void {
    this.#headers = formatLimitHeaders(this.#options.asked, maxTokens)
  }

  onTokens(index: number, tokens: readonly TokenInfo[]): void {
    this.#judge.take(index, tokens)
  }

  onDelta(index: number, delta: ChoiceDelta): void {
    this.#gathered[index]?.take(delta)
  }

  onFinish(index: number, finish: FinishReason): void {
    const choice = this.#gathered[index]
    if (choice) choice.finish = finish
  }

  onError(error: ShoalError): void {
    sendError(this.#response, this.#options.shape.toError(error))
  }

  onEnd(usage: Usage): void {
    const { head, logprobs, shape } = this.#options
    const response = this.#response
    const headers = [...this.#headers, ...this.#judge.headers()]
    for (const [name, value] of headers) response.setHeader(name, value)
    response.setHeader('content-type', 'application/json')
    announceUsage(response)
    const choices = this.#gathered.map((choice, index) => choice.toChoice(index, logprobs))
    const completion: ChatCompletion = { ...head, object: 'chat.completion', choices, usage }
    response.write(JSON.stringify(shape.toBody(completion)))
    endWithUsage(response, usage)
  }
}

class GatheredChoice {
  finish: FinishReason = 'stop'
  #content = ''
  readonly #tokens: TokenInfo[] = []
  readonly #calls: ToolCall[] = []

  take(delta: ChoiceDelta): void {
    if (delta.type === 'content') {
      this.#content += delta.text
      this.#tokens.push(...delta.tokens)
    } else if (delta.type === 'call') {
      const { id, name } = delta
      this.#calls.push({ id, type: 'function', function: { name, arguments: '' } })
    } else {
      const call = this.#calls[delta.call]
      if (call) call.function.arguments += delta.text
    }
  }

  toChoice(index: number, logprobs: boolean): ChatCompletion['choices'][0] {
    const content = this.#content === '' && this.#calls.length > 0 ? null : this.#content
    const calls = this.#calls.length > 0 && { tool_calls: this.#calls }
    return {
      index,
      message: { role: 'assistant', content, refusal: null, ...calls },
      logprobs: logprobs ? choiceLogprobs(this.#tokens) : null,
      finish_reason: this.finish,
    }
  }
}
