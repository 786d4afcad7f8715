import {
  constants,
  createServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type Settings,
} from 'node:http2'
import type { Socket } from 'node:net'
import { answerAtOnce } from '../../../bench/gateway/answer.ts'
import { TRAILER_USAGE } from '../../../shared/wire/link.ts'
import type { EngineReport } from '../../../shared/wire/telemetry.ts'
import { floodFrames } from './frame-flood.ts'
import { CHAT_MODEL, EMBEDDING_MODEL, LARGE_BYTES, LARGE_INPUT } from './target.ts'

interface CellBehaviour {
  engines: EngineReport[]
  /** Takes over a connected data plane. */
  serve: (socket: Socket) => void
  /** Rest before the data plane is dialled again, in milliseconds. */
  againMs?: number
  /** True for a cell that sends samples without a pause. */
  flood?: boolean
}

const report = (weights: string, kind: EngineReport['kind'], models: string[]): EngineReport => ({
  weights,
  kind,
  models,
  state: 'ready',
  slots: 64,
  queue_limit: 64,
  slots_busy: 0,
  queued: 0,
  context_length: 2048,
  restarts: 0,
})

const CHAT = report('echo', 'chat', [CHAT_MODEL])
const EMBEDDING = report('vectors', 'embedding', [EMBEDDING_MODEL])

type Handler = (request: Http2ServerRequest, response: Http2ServerResponse) => void

/** HTTP/2 options of a daemon: Node's defaults end a session when many clients leave at once. */
const OPTIONS = {
  settings: { maxConcurrentStreams: 100_000, initialWindowSize: 1024 * 1024 },
  maxSessionMemory: 1000,
  streamResetBurst: 1_000_000,
  streamResetRate: 100_000,
}

const overHttp2 = (handler: Handler, settings: Settings = {}): CellBehaviour['serve'] => {
  const options = { ...OPTIONS, settings: { ...OPTIONS.settings, ...settings } }
  const server = createServer(options, (request, response) => {
    response.on('error', () => {})
    request.on('error', () => {})
    handler(request, response)
  })
  server.on('sessionError', () => {})
  return socket => void server.emit('connection', socket)
}

const USAGE = JSON.stringify({ prompt_tokens: 1, completion_tokens: 0, total_tokens: 1 })

const endWith = (
  response: Http2ServerResponse,
  type: string,
  status: number,
  body: string,
): void => {
  response.writeHead(status, { 'content-type': type })
  response.addTrailers({ [TRAILER_USAGE]: USAGE })
  response.end(body)
}

const vectors = (length: number): string =>
  JSON.stringify({
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding: '' }],
    model: EMBEDDING_MODEL,
    usage: { prompt_tokens: 1, total_tokens: 1 },
  }).replace('""', `"${'A'.repeat(length)}"`)
const SMALL = vectors(1024)
const LARGE = vectors(LARGE_BYTES)

const answer: Handler = (request, response) => {
  let body = ''
  request.on('data', piece => {
    body += piece
  })
  request.on('end', () => {
    if (request.url.endsWith('/embeddings'))
      endWith(response, 'application/json', 200, body.includes(LARGE_INPUT) ? LARGE : SMALL)
    else answerAtOnce(body, response as never, true)
  })
}

const MIB = Buffer.alloc(1024 * 1024, 'x')
const ENDLESS_MIB = 63
const SLOW_MS = 5000

/** A whole answer of just below 64 MiB that never ends. */
const endless: Handler = (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json' })
  let left = ENDLESS_MIB
  const next = (): void => {
    while (left-- > 0) if (!response.write(MIB)) return void response.once('drain', next)
  }
  next()
}

const chatOnly = (handler: Handler, engine = CHAT): CellBehaviour => ({
  engines: [engine],
  serve: overHttp2(handler),
})

const SERVED_BEFORE = 10

/** Serves some requests, so that the cell counts as sound, and then only answers pings. */
const fallSilent = (handler: Handler): CellBehaviour => {
  let served = 0
  return chatOnly((request, response) =>
    served++ < SERVED_BEFORE ? answer(request, response) : handler(request, response),
  )
}

/** Behaviours of the proof's cells, by name. */
export const behaviours = {
  honest: { engines: [CHAT, EMBEDDING], serve: overHttp2(answer) },
  resets: chatOnly((_request, response) => response.stream.close(constants.NGHTTP2_INTERNAL_ERROR)),
  'no-head': fallSilent(() => {}),
  /** Silent from its first request on. */
  mute: chatOnly(() => {}),
  'no-streams': { engines: [CHAT], serve: overHttp2(answer, { maxConcurrentStreams: 0 }) },
  'no-window': { engines: [CHAT], serve: overHttp2(answer, { initialWindowSize: 0 }) },
  'head-only': fallSilent((_request, response) =>
    response.stream.respond({ 'content-type': 'text/event-stream; charset=utf-8' }),
  ),
  endless: chatOnly(endless),
  html: chatOnly((_request, response) =>
    endWith(response, 'text/html', Math.random() < 0.5 ? 200 : 404, '<h1>It works!</h1>'),
  ),
  'many-slots': chatOnly(
    (request, response) => void setTimeout(answer, SLOW_MS, request, response),
    { ...CHAT, slots: 4096, queue_limit: 1_000_000 },
  ),
  frames: { engines: [], serve: floodFrames },
  reconnects: { engines: [], serve: socket => socket.destroy(), againMs: 2 },
  telemetry: { engines: [], serve: overHttp2(answer), flood: true },
} satisfies Record<string, CellBehaviour> as Record<Behaviour, CellBehaviour>

export type Behaviour =
  | 'honest'
  | 'resets'
  | 'no-head'
  | 'head-only'
  | 'mute'
  | 'no-streams'
  | 'no-window'
  | 'endless'
  | 'html'
  | 'many-slots'
  | 'frames'
  | 'reconnects'
  | 'telemetry'
