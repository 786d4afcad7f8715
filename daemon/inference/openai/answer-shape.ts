import type { ShoalError } from '../../../shared/errors.ts'
import type { ChatCompletion, ChatCompletionChunk, Usage } from '../../../shared/wire/openai.ts'
import type { SseStream } from './event-stream.ts'

/** Takes the chunks of a streamed answer and writes them down. */
export interface ChunkSink {
  send(chunk: ChatCompletionChunk): void
  finish(usage: Usage): void
  /** Ends an answer of which something was sent with an error. */
  fail(error: ShoalError): void
}

/** Format in which answers of the chat path are written. */
export interface AnswerShape {
  toBody(completion: ChatCompletion): unknown
  createSink(stream: SseStream): ChunkSink
  /** A refusal in the words of the request that was made. */
  toError(error: ShoalError): ShoalError
}

/** Format of OpenAI's chat completions. */
export const CHAT_SHAPE: AnswerShape = {
  toBody: completion => completion,
  createSink: stream => stream,
  toError: error => error,
}
