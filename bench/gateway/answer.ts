import type { OutgoingHttpHeaders } from 'node:http'
import { TRAILER_USAGE } from '../../shared/wire/link.ts'

const USAGE = { prompt_tokens: 20, completion_tokens: 32, total_tokens: 52 }

const WHOLE = JSON.stringify({
  id: 'chatcmpl-0123456789abcdef',
  object: 'chat.completion',
  created: 1_800_000_000,
  model: 'model-a:7b',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'word '.repeat(32), refusal: null },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage: USAGE,
})

const CHUNK = `data: ${JSON.stringify({
  id: 'chatcmpl-0123456789abcdef',
  object: 'chat.completion.chunk',
  created: 1_800_000_000,
  model: 'model-a:7b',
  choices: [{ index: 0, delta: { content: ' word' }, logprobs: null, finish_reason: null }],
})}\n\n`

/** Parts that the answers of both kinds of server share. */
interface Answer {
  writeHead(status: number, headers: OutgoingHttpHeaders): unknown
  write(text: string): boolean
  end(text?: string): unknown
  once(event: 'close', listener: () => void): unknown
  addTrailers?(headers: OutgoingHttpHeaders): void
}

/** Chunks of a streamed answer. */
export const CHUNKS = 32

/** Prompt marker: the stream continues slowly until its client leaves. */
export const HOLD = 'hold this stream'
const HOLD_CHUNK_MS = 10_000

const hold = (response: Answer): void => {
  response.write(CHUNK)
  const timer = setInterval(() => response.write(CHUNK), HOLD_CHUNK_MS)
  response.once('close', () => clearInterval(timer))
}

/** Engine without cost: it answers at once, whole or as 32 chunks. */
export const answerAtOnce = (body: string, response: Answer, trailers: boolean): void => {
  const stream = body.includes('"stream":true')
  response.writeHead(200, {
    'content-type': stream ? 'text/event-stream; charset=utf-8' : 'application/json',
    ...(stream || trailers ? {} : { 'content-length': Buffer.byteLength(WHOLE) }),
  })
  if (trailers) response.addTrailers?.({ [TRAILER_USAGE]: JSON.stringify(USAGE) })
  if (!stream) {
    response.end(WHOLE)
    return
  }
  if (body.includes(HOLD)) {
    hold(response)
    return
  }
  let left = CHUNKS
  const next = (): void => {
    if (left-- === 0) {
      response.end('data: [DONE]\n\n')
      return
    }
    response.write(CHUNK)
    setImmediate(next)
  }
  next()
}
