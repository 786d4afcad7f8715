import { ShoalError } from '../../../shared/errors.ts'
import type { ChatCompletionChunk, FinishReason, Usage } from '../../../shared/wire/openai.ts'
import type { TokenInfo } from '../protocol.ts'
import { formatLimitHeaders, promptHeaders } from './answer-head.ts'
import type { ChunkSink } from './answer-shape.ts'
import type { ChoiceDelta } from './choice.ts'
import type { ChoicesListener } from './choices.ts'
import { SseStream } from './event-stream.ts'
import { type HttpResponse, sendError } from './http.ts'
import { Judge } from './judge.ts'
import { choiceLogprobs } from './logprobs.ts'
import type { AnswerOptions } from './whole-answer.ts'

interface StreamOptions extends AnswerOptions {
  includeUsage: boolean
  repeat: (run: () => void) => () => void
  cancel: () => void
}

type ChunkChoice = ChatCompletionChunk['choices'][0]

/** The answers as a stream of chunks, in the order in which they are made. */
export class StreamedAnswer implements ChoicesListener {
  readonly #response: HttpResponse
  readonly #options: StreamOptions
  readonly #judge: Judge
  readonly #stream: SseStream
  readonly #sink: ChunkSink
  readonly #begun = new Set<number>()
  #headers: [string, string][] = []
  /** Chunks that are held back; undefined once none is any more. */
  #held: ChatCompletionChunk[] | undefined = []

  constructor(response: HttpResponse, options: StreamOptions) {
    this.#response = response
    this.#options = options
    this.#judge = new Judge(options.judgeTokens)
    this.#stream = new SseStream(response, {
      headers: () => [...this.#headers, ...this.#judge.headers(), ...this.#judge.usageHeaders()],
      repeat: options.repeat,
      onStalled: () => this.#giveUp(),
    })
    this.#sink = options.shape.createSink(this.#stream)
  }

  onStart({ maxTokens, promptTokens }: { maxTokens: number; promptTokens: number }): void {
    this.#judge.start(promptTokens)
    this.#headers = [
      ...promptHeaders(promptTokens),
      ...formatLimitHeaders(this.#options.asked, maxTokens),
    ]
    this.#release()
  }

  onTokens(index: number, tokens: readonly TokenInfo[]): void {
    this.#judge.take(index, tokens)
    this.#release()
  }

  onDelta(index: number, delta: ChoiceDelta): void {
    const tokens = delta.type === 'content' && this.#options.logprobs ? delta.tokens : []
    // a token that was only wanted for the judgement
    if (delta.type === 'content' && delta.text === '' && tokens.length === 0) return
    this.#begin(index, delta.type === 'content' ? '' : null)
    const logprobs = tokens.length > 0 ? choiceLogprobs(tokens) : null
    this.#send({ index, delta: chunkDelta(delta), logprobs, finish_reason: null })
  }

  onFinish(index: number, finish: FinishReason): void {
    this.#begin(index, '')
    this.#send({ index, delta: {}, logprobs: null, finish_reason: finish })
    if (index > 0) return
    // nothing more is judged: the other answers must not wait for their ends
    this.#judge.end()
    this.#release()
  }

  onEnd(usage: Usage): void {
    this.#judge.end()
    this.#release()
    if (this.#options.includeUsage) this.#sink.send(this.#chunk([], usage))
    this.#sink.finish(usage)
  }

  onError(error: ShoalError): void {
    if (this.#stream.started) {
      this.#sink.fail(error)
      return
    }
    this.#stream.close()
    sendError(this.#response, this.#options.shape.toError(error))
  }

  /** Nobody reads any more. */
  close(): void {
    this.#stream.close()
  }

  #begin(index: number, content: '' | null): void {
    if (this.#begun.has(index)) return
    this.#begun.add(index)
    const delta = { role: 'assistant' as const, content }
    this.#send({ index, delta, logprobs: null, finish_reason: null })
  }

  #send(choice: ChunkChoice): void {
    const chunk = this.#chunk([choice], null)
    if (this.#held) this.#held.push(chunk)
    else this.#sink.send(chunk)
  }

  #chunk(choices: ChunkChoice[], usage: Usage | null): ChatCompletionChunk {
    const { head, includeUsage } = this.#options
    return { ...head, object: 'chat.completion.chunk', choices, ...(includeUsage && { usage }) }
  }

  /** Emits the tokens that were held back, once they are judged. */
  #release(): void {
    if (this.#held === undefined || !this.#judge.decided) return
    const held = this.#held
    this.#held = undefined
    this.#stream.keepAlive()
    for (const chunk of held) this.#sink.send(chunk)
  }

  #giveUp(): void {
    this.#options.cancel()
    // The error makes it a reset on HTTP/2; without one it would look like an end.
    this.#response.destroy(new ShoalError('client_closed', 'the reader has stopped reading'))
  }
}

/** The name of a call comes once, with an id; its arguments follow in pieces. */
const chunkDelta = (delta: ChoiceDelta): ChunkChoice['delta'] => {
  if (delta.type === 'content') return { content: delta.text }
  const index = delta.call
  if (delta.type === 'arguments')
    return { tool_calls: [{ index, function: { arguments: delta.text } }] }
  const { id, name } = delta
  return {
    tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }],
  }
}
