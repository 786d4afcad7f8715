import { type Agent, request } from 'node:http'

/** What became of one streamed request. */
export interface OpenStream {
  /** Status of the head of the answer; 0 when there was none. */
  status: Promise<number>
  /** How the stream ended; pending while it goes on. */
  ended: Promise<StreamEnd>
  /** Milliseconds of the process at which the stream ended; undefined while it goes on. */
  endedAtMs(): number | undefined
  leave(): void
}

type StreamEnd = 'error event' | 'cut' | 'complete' | 'refused' | 'left'

const BODY = JSON.stringify({
  model: 'model-a:7b',
  stream: true,
  messages: [{ role: 'user', content: 'x' }],
})

/** Asks for a stream that does not end by itself. */
export const openStream = (agent: Agent, url: string, secret: string): OpenStream => {
  const status = Promise.withResolvers<number>()
  const ended = Promise.withResolvers<StreamEnd>()
  let endedAtMs: number | undefined
  let tail = ''
  let hasLeft = false
  const end = (how: StreamEnd): void => {
    endedAtMs ??= performance.now()
    ended.resolve(hasLeft ? 'left' : tail.includes('"error"') ? 'error event' : how)
  }
  const asked = request(`${url}/v1/chat/completions`, {
    agent,
    method: 'POST',
    headers: {
      authorization: `Bearer ${secret}`,
      'content-type': 'application/json',
      'content-length': BODY.length,
    },
  })
  asked.on('error', () => {
    status.resolve(0)
    end('refused')
  })
  asked.on('response', answer => {
    status.resolve(answer.statusCode ?? 0)
    answer.on('data', chunk => {
      tail = `${tail}${chunk}`.slice(-1000)
    })
    answer.on('error', () => end('cut'))
    answer.on('close', () => end(answer.complete ? 'complete' : 'cut'))
  })
  asked.end(BODY)
  return {
    status: status.promise,
    ended: ended.promise,
    endedAtMs: () => endedAtMs,
    leave: () => {
      hasLeft = true
      asked.destroy()
    },
  }
}
