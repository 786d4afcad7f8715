import { once } from 'node:events'
import { ShoalError } from '../../../shared/errors.ts'
import { ChatCompletionChunk, type ChatRequest, type Usage } from '../../../shared/wire/openai.ts'
import type { Key } from '../../kernel/declaration/key.ts'
import { EventReader, type StreamEvent } from './event-reader.ts'
import type { Inference } from './inference.ts'
import { errorOf, InnerAnswer } from './inner-answer.ts'

/** A chat completion that is asked for inside the process. */
interface ModelQuestion {
  body: Omit<ChatRequest, 'stream' | 'stream_options'>
  key: Key
  tenantId: string
  requestId: string
  /** Ends the work of the cell too. */
  signal: AbortSignal
  /** Receives the text as it arrives; a promise holds the rest back until it resolves. */
  delta: (text: string) => Promise<void> | void
}

interface ModelReply {
  text: string
  /** Undefined when the cell could not tell. */
  usage: Usage | undefined
}

/** Asks a model; throws the errors that a client would receive. */
export type AskModel = (question: ModelQuestion) => Promise<ModelReply>

const CHAT = '/v1/chat/completions'
/** Longest text of an answer; no model writes as much. */
const MAX_TEXT = 4 * 1024 * 1024

/**
 * Asks a model as `POST /v1/chat/completions` does, on behalf of a key: its tier, quota, usage and
 * cells are the same, because the call takes the same path and ends in an internal answer.
 */
export const createAskModel =
  (inference: Pick<Inference, 'infer'>): AskModel =>
  async ({ body, key, tenantId, requestId, signal, delta }) => {
    signal.throwIfAborted()
    const read = eventReader(delta)
    const answer = new InnerAnswer(read.take)
    const closed = once(answer, 'close')
    closed.catch(() => {})
    const leave = () => answer.destroy()
    signal.addEventListener('abort', leave, { once: true })
    const asked = { ...body, stream: true, stream_options: { include_usage: true } }
    try {
      await inference.infer(
        {
          id: requestId,
          address: '',
          route: CHAT,
          headers: {},
          key,
          tenantId,
          body: asked,
          rawBody: Buffer.from(JSON.stringify(asked)),
          response: answer,
        },
        'chat',
        { model: body.model, stream: true },
      )
      await closed
    } finally {
      signal.removeEventListener('abort', leave)
    }
    signal.throwIfAborted()
    const error = answer.refusal() ?? read.error()
    if (error !== undefined) throw error
    return read.answer()
  }

/** Reads the text and the usage of a completion from its stream. */
const eventReader = (delta: ModelQuestion['delta']) => {
  const events = new EventReader()
  let text = ''
  let usage: Usage | undefined
  let failed: ShoalError | undefined
  let done = false

  const readEvent = ({ name, data }: StreamEvent): Promise<void> | void => {
    if (data === '[DONE]') done = true
    else if (name === 'error') failed = errorOf(data)
    else return readChunk(JSON.parse(data))
  }
  const readChunk = (value: unknown): Promise<void> | void => {
    const chunk = ChatCompletionChunk.safeParse(value).data
    usage = chunk?.usage ?? usage
    const piece = chunk?.choices[0]?.delta.content ?? ''
    if (piece === '') return
    text += piece
    return delta(piece)
  }
  return {
    take: async (piece: Buffer): Promise<void> => {
      const complete = events.take(piece)
      if (events.restLength + text.length > MAX_TEXT)
        throw new ShoalError('cell_unavailable', "the model's answer is longer than 4 MiB")
      for (const event of complete) await readEvent(event)
    },
    error: (): ShoalError | undefined =>
      failed ?? (done ? undefined : new ShoalError('cell_unavailable', 'the answer was cut off')),
    answer: (): ModelReply => ({ text, usage }),
  }
}
