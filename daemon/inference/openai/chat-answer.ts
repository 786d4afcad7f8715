import { ShoalError } from '../../../shared/errors.ts'
import { HEADER_MAX_TOKENS, HEADER_PROMPT_TOKENS } from '../../../shared/wire/link.ts'
import type {
  ChatCompletion,
  ChatCompletionChunk,
  FinishReason,
  Usage,
} from '../../../shared/wire/openai.ts'
import type { EngineEvent } from '../jobs.ts'
import { EventStream } from './event-stream.ts'
import { announceUsage, endWithUsage, type HttpResponse, sendError } from './http.ts'

/** What is said the same way in every part of one answer. */
export interface AnswerHead {
  id: string
  /** Unix time, seconds. */
  created: number
  model: string
}

export interface AnswerOptions {
  head: AnswerHead
  /** The most tokens that the caller wanted. */
  asked: number | undefined
}

export interface StreamOptions extends AnswerOptions {
  includeUsage: boolean
  repeat: (run: () => void) => () => void
  cancel: () => void
}

/** One answer in one piece. */
export const wholeAnswer = (
  response: HttpResponse,
  { head, asked }: AnswerOptions,
): ((event: EngineEvent) => void) => {
  const account = new Account(asked)
  let content = ''
  return event => {
    if (event.type === 'start') account.start(event)
    else if (event.type === 'text') content += event.text
    else if (event.type === 'error') sendError(response, event.error)
    else if (event.type === 'end') {
      const usage = account.usage(event.completionTokens)
      sendCompletion(response, account, completion(head, content, finishReason(event), usage))
    }
  }
}

const completion = (
  head: AnswerHead,
  content: string,
  finish: FinishReason,
  usage: Usage,
): ChatCompletion => ({
  ...head,
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content, refusal: null },
      logprobs: null,
      finish_reason: finish,
    },
  ],
  usage,
})

const sendCompletion = (
  response: HttpResponse,
  account: Account,
  completion: ChatCompletion,
): void => {
  for (const [name, value] of account.headers()) response.setHeader(name, value)
  response.setHeader('content-type', 'application/json')
  announceUsage(response)
  response.write(JSON.stringify(completion))
  endWithUsage(response, completion.usage)
}

/** One answer as a stream of chunks. */
export class StreamedAnswer {
  readonly #response: HttpResponse
  readonly #options: StreamOptions
  readonly #account: Account
  readonly #stream: EventStream
  #begun = false

  constructor(response: HttpResponse, options: StreamOptions) {
    this.#response = response
    this.#options = options
    this.#account = new Account(options.asked)
    this.#stream = new EventStream(response, {
      headers: () => this.#account.headers(),
      repeat: options.repeat,
      onStalled: () => this.#giveUp(),
    })
  }

  readonly listener = (event: EngineEvent): void => {
    if (event.type === 'start') {
      this.#account.start(event)
      this.#stream.keepAlive()
    } else if (event.type === 'text') {
      this.#begin()
      this.#send({ content: event.text })
    } else if (event.type === 'end') {
      this.#end(finishReason(event), this.#account.usage(event.completionTokens))
    } else if (event.type === 'error') this.#fail(event.error)
  }

  /** Nobody reads any more. */
  close(): void {
    this.#stream.close()
  }

  #begin(): void {
    if (!this.#begun) this.#send({ role: 'assistant', content: '' })
    this.#begun = true
  }

  #send(
    delta: ChatCompletionChunk['choices'][0]['delta'],
    finish: FinishReason | null = null,
  ): void {
    this.#stream.send({
      ...this.#options.head,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      ...(this.#options.includeUsage && { usage: null }),
    } satisfies ChatCompletionChunk)
  }

  #end(finish: FinishReason, usage: Usage): void {
    this.#begin()
    this.#send({}, finish)
    if (this.#options.includeUsage) {
      this.#stream.send({
        ...this.#options.head,
        object: 'chat.completion.chunk',
        choices: [],
        usage,
      } satisfies ChatCompletionChunk)
    }
    this.#stream.done(usage)
  }

  #fail(error: ShoalError): void {
    if (this.#stream.started) {
      this.#stream.fail(error)
      return
    }
    this.#stream.close()
    sendError(this.#response, error)
  }

  #giveUp(): void {
    this.#options.cancel()
    // The error makes it a reset on HTTP/2; without one it would look like an end.
    this.#response.destroy(new ShoalError('client_closed', 'the reader has stopped reading'))
  }
}

const finishReason = ({ reason }: Extract<EngineEvent, { type: 'end' }>): FinishReason =>
  reason === 'length' ? 'length' : 'stop'

/** What is known of an answer's tokens. */
class Account {
  readonly #asked: number | undefined
  #promptTokens = 0
  #cachedTokens = 0
  #maxTokens = Number.POSITIVE_INFINITY

  constructor(asked: number | undefined) {
    this.#asked = asked
  }

  start(event: Extract<EngineEvent, { type: 'start' }>): void {
    this.#promptTokens = event.promptTokens
    this.#cachedTokens = event.cachedTokens
    this.#maxTokens = event.maxTokens
  }

  /** What the prompt took, and the bound that holds when the caller asked for more. */
  headers(): [string, string][] {
    const prompt: [string, string] = [HEADER_PROMPT_TOKENS, String(this.#promptTokens)]
    const lowered = this.#asked !== undefined && this.#asked > this.#maxTokens
    return lowered ? [prompt, [HEADER_MAX_TOKENS, String(this.#maxTokens)]] : [prompt]
  }

  usage(completionTokens: number): Usage {
    return {
      prompt_tokens: this.#promptTokens,
      completion_tokens: completionTokens,
      total_tokens: this.#promptTokens + completionTokens,
      prompt_tokens_details: { cached_tokens: this.#cachedTokens },
    }
  }
}
