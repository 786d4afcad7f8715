import { once } from 'node:events'
import { createServer, get, type IncomingMessage, type Server } from 'node:http'
import { constants } from 'node:http2'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import type { AnswerListener, CellLink } from '../../../../coordinator/fleet/cells/cell-link.ts'
import type { CellEngine } from '../../../../coordinator/fleet/routing/router.ts'
import { Follower } from '../../../../coordinator/gateway/dispatch/attempt.ts'
import type { ClientAnswer } from '../../../../coordinator/gateway/dispatch/client-answer.ts'
import { dispatch } from '../../../../coordinator/gateway/dispatch/dispatch.ts'
import type { DispatchOutcome } from '../../../../coordinator/gateway/dispatch/dispatch-request.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { HEADER_CELL, HEADER_PROMPT_TOKENS, TRAILER_USAGE } from '../../../../shared/wire/link.ts'
import { createAnswerMemory } from '../../../support/answer-memory.ts'
import {
  type CellHandler,
  endWithUsage,
  type LinkedCell,
  linkCell,
  USAGE,
} from '../../../support/cell.ts'
import { collectAnswer } from '../../../support/link-requests.ts'

interface Rig {
  cells: Record<string, LinkedCell>
  engines: Record<string, CellEngine>
  outcomes: DispatchOutcome[]
  url: string
  /** Resolves when the request under way is settled on the coordinator's side. */
  settled: () => Promise<unknown>
}

/** A client-facing server that dispatches to the given cells, tried in this order. */
const rig = async (
  t: Test,
  handlers: Record<string, CellHandler>,
  stream: boolean,
  memory = createAnswerMemory(),
): Promise<Rig> => {
  const cells: Record<string, LinkedCell> = {}
  const engines: Record<string, CellEngine> = {}
  for (const [id, handler] of Object.entries(handlers)) {
    const cell = await linkCell(id, handler)
    cells[id] = cell
    engines[id] = { cellId: id, link: cell.link, slots: 1, inFlight: 0, others: 0, ready: true }
  }
  const outcomes: DispatchOutcome[] = []
  let running: Promise<unknown> = Promise.resolve()
  const server: Server = createServer((request, response) => {
    running = dispatch({
      runtime: systemRuntime,
      path: '/v1/chat/completions',
      headers: { 'content-type': 'application/json' },
      body: Buffer.from('{"a":1}'),
      response,
      answerHeaders: { 'x-mine': 'yes' },
      stream,
      memory,
      keyId: keyOf(request),
      pick: tried => Object.values(engines).find(engine => !tried.has(engine.cellId)),
      record: async outcome => {
        outcomes.push(outcome)
      },
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(async () => {
    server.closeAllConnections()
    server.close()
    for (const cell of Object.values(cells)) await cell.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { cells, engines, outcomes, url, settled: () => running }
}

const keyOf = ({ headers }: IncomingMessage): string => String(headers['x-key'] ?? 'k')

const ok: CellHandler = (request, response) => {
  const pieces: Buffer[] = []
  request.on('data', (piece: Buffer) => pieces.push(piece))
  request.on('end', () => {
    response.writeHead(200, { 'x-secret': 'no' })
    response.write(`${request.url} ${Buffer.concat(pieces)}`)
    endWithUsage(response)
  })
}
const answerFull: CellHandler = (_request, response) => {
  response.writeHead(503, { 'content-type': 'application/json', 'retry-after': '7' })
  response.end('{"error":{"message":"all slots are busy"}}')
}
const never: CellHandler = () => {}

const turn = (): Promise<void> => new Promise(done => setImmediate(done))

const text = async (response: IncomingMessage): Promise<string> => {
  let body = ''
  for await (const piece of response) body += piece
  return body
}

const ask = async (url: string): Promise<IncomingMessage> => {
  const request = get(url)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return response
}

t.test('a cell answers a request, its bytes are unchanged, and its usage is recorded', async t => {
  for (const stream of [true, false]) {
    const { outcomes, url, engines } = await rig(t, { a: ok }, stream)
    const response = await ask(url)
    t.equal(await text(response), '/v1/chat/completions {"a":1}')
    t.equal(response.headers[HEADER_CELL], 'a')
    t.equal(response.headers['x-mine'], 'yes')
    t.notOk(response.headers['x-secret'], 'only listed headers of the cell are passed on')
    const outcome = { status: 'ok', cellId: 'a', usage: USAGE, httpStatus: 200, retries: 0 }
    t.match(outcomes, [outcome])
    t.equal(engines.a?.inFlight, 0)
  }
})

t.test('a stream that is cut within an event ends with complete events only', async t => {
  const cell: CellHandler = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', [HEADER_PROMPT_TOKENS]: '3' })
    response.write('data: {"n":1}\n\ndata: {"n":', () =>
      response.stream.close(constants.NGHTTP2_INTERNAL_ERROR),
    )
  }
  const { url, outcomes } = await rig(t, { a: cell }, true)
  const events = (await text(await ask(url))).split('\n\n')
  t.equal(events[0], 'data: {"n":1}')
  t.match(events[1], /^event: error\ndata: \{"error":/)
  t.strictSame(events.slice(2), [''])
  t.match(outcomes, [{ status: 'failed' }])
})

t.test('a cell that answers with an unexpected status is replaced by another', async t => {
  for (const status of [201, 204, 302]) {
    const answerUnexpected: CellHandler = (_request, response) => {
      response.writeHead(status)
      response.end()
    }
    const { url, outcomes } = await rig(t, { a: answerUnexpected, b: ok }, false)
    const response = await ask(url)
    t.equal(response.headers[HEADER_CELL], 'b')
    await text(response)
    t.match(outcomes, [{ status: 'ok', cellId: 'b' }])
  }
})

t.test('events are passed on complete, however they are split', async t => {
  const whole = 'data: {"n":1}\n\ndata: {"n":2}\n\ndata: [DONE]\n\n'
  for (let size = 1; size <= whole.length; size += 3) {
    const cell: CellHandler = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const pieces = whole.match(new RegExp(`[^]{1,${size}}`, 'g')) as string[]
      const next = (): void => {
        const piece = pieces.shift()
        if (piece === undefined) endWithUsage(response)
        else response.write(piece, () => setImmediate(next))
      }
      next()
    }
    const { url, outcomes } = await rig(t, { a: cell }, true)
    t.equal(await text(await ask(url)), whole, `pieces of ${size}`)
    t.match(outcomes, [{ status: 'ok', beganAtMs: Number }])
  }
})

t.test('a full cell is replaced by another', async t => {
  const { outcomes, url } = await rig(t, { a: answerFull, b: ok }, true)
  const response = await ask(url)
  t.equal(response.statusCode, 200)
  t.equal(response.headers[HEADER_CELL], 'b')
  await text(response)
  t.match(outcomes, [{ status: 'ok', retries: 1 }])
  t.equal(outcomes.length, 1)
})

t.test(
  'a fully loaded fleet yields 503 with the shortest Retry-After of the last attempt',
  async t => {
    const { outcomes, url } = await rig(t, { a: answerFull, b: answerFull }, true)
    const response = await ask(url)
    t.equal(response.statusCode, 503)
    t.equal(response.headers['retry-after'], '7')
    t.match(JSON.parse(await text(response)), {
      error: { code: 'cell_unavailable', message: 'all slots are busy' },
    })
    t.match(outcomes, [{ status: 'refused', httpStatus: 503 }])
  },
)

t.test('a fleet without cells yields 503 with Retry-After 30', async t => {
  const { url } = await rig(t, {}, false)
  const response = await ask(url)
  t.equal(response.statusCode, 503)
  t.equal(response.headers['retry-after'], '30')
  await text(response)
})

t.test('an error of the request itself is passed on and not retried elsewhere', async t => {
  const refuseTooLong: CellHandler = (_request, response) => {
    response
      .writeHead(422, { 'content-type': 'application/json' })
      .end('{"error":{"code":"context_length_exceeded"}}')
  }
  const { outcomes, url } = await rig(t, { a: refuseTooLong, b: ok }, true)
  const response = await ask(url)
  t.equal(response.statusCode, 400)
  await text(response)
  t.match(outcomes, [{ status: 'refused', cellId: 'a', httpStatus: 400 }])
})

for (const stream of [true, false])
  t.test(`a cell that dies before its first byte is replaced (stream ${stream})`, async t => {
    const { cells, outcomes, url } = await rig(t, { a: () => cells.a?.cut(), b: ok }, stream)
    const response = await ask(url)
    t.equal(response.headers[HEADER_CELL], 'b')
    await text(response)
    t.match(outcomes, [{ status: 'ok', cellId: 'b' }])
  })

t.test('a cell that dies within a stream ends it with an error event and no [DONE]', async t => {
  const answerHalf: CellHandler = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: {"n":1}\n\n')
  }
  const { cells, outcomes, url } = await rig(t, { a: answerHalf, b: ok }, true)
  const response = await ask(url)
  response.once('data', () => cells.a?.cut())
  const body = await text(response)
  t.match(body, /^data: \{"n":1\}\n\n[\s\S]*"code":"cell_unavailable"/)
  t.notMatch(body, /\[DONE\]/)
  t.match(outcomes, [{ status: 'failed', cellId: 'a', usage: undefined }])
})

t.test('an error event from the cell is passed on without a second one', async t => {
  const answerWithError: CellHandler = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end('data: {"error":{"code":"cell_unavailable"}}\n\n')
  }
  const { outcomes, url } = await rig(t, { a: answerWithError }, true)
  t.equal(await text(await ask(url)), 'data: {"error":{"code":"cell_unavailable"}}\n\n')
  t.match(outcomes, [{ status: 'failed' }])
})

t.test('an answer without a usage trailer counts as incomplete', async t => {
  const cutShort: CellHandler = (_request, response) => {
    response.writeHead(200).end('{"half":')
  }
  const { url } = await rig(t, { a: cutShort, b: ok }, false)
  const response = await ask(url)
  t.equal(response.headers[HEADER_CELL], 'b')
  await text(response)
})

for (const [phase, handler] of [
  ['before the first byte', never],
  [
    'within a stream',
    ((_request, response) => {
      response.writeHead(200)
      response.write('data: 1\n\n')
    }) as CellHandler,
  ],
] as const)
  t.test(`a client that leaves ${phase} resets the stream on the cell`, async t => {
    let reset: (code: number) => void = () => {}
    let markReached: () => void = () => {}
    const wasReset = new Promise<number>(resolve => {
      reset = resolve
    })
    const wasReached = new Promise<void>(resolve => {
      markReached = resolve
    })
    const { outcomes, engines, settled, url } = await rig(
      t,
      {
        a: (request, response) => {
          request.stream.on('close', () => reset(request.stream.rstCode))
          handler(request, response)
          markReached()
        },
      },
      true,
    )
    const request = get(url)
    request.on('error', () => {})
    await wasReached
    if (phase === 'within a stream') await once(request, 'response')
    request.destroy()
    t.equal(await wasReset, 8, 'CANCEL')
    await settled()
    t.match(outcomes, [{ status: 'cancelled', cellId: 'a' }])
    t.equal(engines.a?.inFlight, 0)
  })

t.test('a client that reads slowly throttles the cell and loses nothing', async t => {
  const total = 8 * 1024 * 1024
  let written = 0
  const flood: CellHandler = (_request, response) => {
    response.writeHead(200)
    const writeMore = (): void => {
      while (written < total) {
        written += 65_536
        if (!response.write(Buffer.alloc(65_536))) {
          response.once('drain', writeMore)
          return
        }
      }
      endWithUsage(response)
    }
    writeMore()
  }
  const { url } = await rig(t, { a: flood }, true)
  const quick = await rig(t, { a: ok }, true)
  const response = await ask(url)
  for (let i = 0; i < 20; i++) await text(await ask(quick.url))
  t.ok(written < total, `the cell could write ${written} of ${total} bytes`)
  let received = 0
  for await (const piece of response) received += piece.length
  t.equal(received, total)
})

t.test('a frozen cell is disconnected by the ping', async t => {
  const cell = await linkCell('a', never, 20)
  cell.freeze()
  await cell.isDown
  await t.rejects(collectAnswer(cell.link, { method: 'GET', path: '/' }), {
    code: 'cell_unavailable',
  })
  await cell.close()
})

t.test('an implausible token count from a cell is ignored', async t => {
  const boasts: CellHandler = (_request, response) => {
    const usage = { ...USAGE, completion_tokens: Number.MAX_SAFE_INTEGER }
    response.writeHead(200, { 'content-type': 'text/plain' })
    response.write('lies')
    response.addTrailers({ [TRAILER_USAGE]: JSON.stringify(usage) })
    response.end()
  }
  const { outcomes, url } = await rig(t, { a: boasts, b: ok }, false)
  const response = await ask(url)
  await text(response)
  t.equal(response.headers[HEADER_CELL], 'b')
  t.match(outcomes, [{ status: 'ok', usage: USAGE }])
})

t.test('a severed link is down before its streams end', async t => {
  const cell = await linkCell('a', never)
  const order: string[] = []
  const isClosed = collectAnswer(cell.link, { method: 'GET', path: '/' })
  cell.isDown.then(() => order.push('link'))
  isClosed.then(() => order.push('stream'))
  cell.link.close()
  await Promise.all([cell.isDown, isClosed])
  t.strictSame(order, ['link', 'stream'])
  await cell.close()
})

t.test('a client that leaves between two attempts is recorded at the last cell', async t => {
  const a = await linkCell('a', answerFull)
  const b = await linkCell('b', ok)
  const engines = [a, b].map(({ link }) => ({
    cellId: link.cellId,
    link,
    slots: 1,
    inFlight: 0,
    others: 0,
    ready: true,
  }))
  const outcomes: DispatchOutcome[] = []
  const settled = Promise.withResolvers<unknown>()
  const server = createServer((_request, response) => {
    const running = dispatch({
      runtime: systemRuntime,
      path: '/v1/chat/completions',
      headers: { 'content-type': 'application/json' },
      body: Buffer.from('{}'),
      answerHeaders: {},
      stream: false,
      memory: createAnswerMemory(),
      keyId: 'k',
      response,
      pick: tried => {
        if (tried.size === 1) response.destroy()
        return engines[tried.size]
      },
      record: async outcome => void outcomes.push(outcome),
    })
    settled.resolve(running)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  await t.rejects(ask(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
  await settled.promise
  t.match(outcomes, [{ status: 'cancelled', cellId: 'a', httpStatus: undefined }])
  t.strictSame(
    engines.map(engine => engine.inFlight),
    [0, 0],
  )
  server.close()
  await a.close()
  await b.close()
})

t.test('an answer that is too large for any cell is not requested again', async t => {
  const huge: CellHandler = (_request, response) => {
    response.writeHead(200)
    const piece = Buffer.alloc(1024 * 1024)
    let left = 65
    const writeMore = (): void => {
      while (left-- > 0) if (!response.write(piece)) return void response.once('drain', writeMore)
      endWithUsage(response)
    }
    writeMore()
  }
  const { outcomes, url } = await rig(t, { a: huge, b: ok }, false)
  const response = await ask(url)
  t.equal(response.statusCode, 500)
  t.match(JSON.parse(await text(response)), { error: { message: /larger than 64 MiB/ } })
  t.match(outcomes, [{ status: 'failed', cellId: 'a', httpStatus: 500 }])
})

t.test('text that arrives with the end of a stream counts when the rest is cut', async t => {
  const cut: CellHandler = (request, response) => {
    response.writeHead(200, { [HEADER_PROMPT_TOKENS]: '7' })
    response.write('data: role\n\ndata: a\n\ndata: b\n\ndata: [DONE]\n\n')
    // the window of the stream tells that the bytes have left
    request.stream.session?.ping(() => request.stream.close(2))
  }
  const { outcomes, url } = await rig(t, { a: cut }, true)
  const answer = await text(await ask(url))
  t.match(answer, /^data: role\n\ndata: a\n\ndata: b\n\n/)
  t.notMatch(answer, '[DONE]')
  t.match(outcomes, [{ status: 'failed', usage: { prompt_tokens: 7, completion_tokens: 2 } }])
})

t.test('an answer kept for a client that has left is recorded as cancelled', async t => {
  const cell = await linkCell('a', ok)
  const { link } = cell
  const engine = { cellId: 'a', link, slots: 1, inFlight: 0, others: 0, ready: true }
  const outcomes: DispatchOutcome[] = []
  const { promise: delivered, resolve, reject } = Promise.withResolvers<void>()
  const server = createServer(async (_request, response) => {
    const ending = await dispatch({
      runtime: systemRuntime,
      path: '/v1/chat/completions',
      headers: {},
      body: Buffer.from('{}'),
      response,
      answerHeaders: {},
      stream: false,
      pick: () => engine,
      accept: () => false,
      memory: createAnswerMemory(),
      keyId: 'k',
      record: async outcome => void outcomes.push(outcome),
    })
    response.destroy()
    if (ending.kind === 'declined') await ending.deliver?.().then(resolve, reject)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(async () => {
    server.close()
    await cell.close()
  })
  get(`http://127.0.0.1:${(server.address() as AddressInfo).port}`).on('error', () => {})
  await delivered
  t.match(outcomes, [{ status: 'cancelled', usage: USAGE, httpStatus: undefined }])
})

t.test('a client that does not read is disconnected, and its cell is not blamed', async t => {
  const client = {
    isStalled: true,
    isGone: false,
    drop() {
      this.isGone = true
    },
  }
  const link: CellLink = {
    cellId: 'a',
    isOpen: true,
    request: (_, listener) => ({
      unsentBytes: 0,
      pause() {},
      resume() {},
      cancel: () => listener.onClose(false),
    }),
    roundTripMs: () => undefined,
    close() {},
  }
  const follower = new Follower(
    link,
    { method: 'POST', path: '/' },
    {
      client: client as unknown as ClientAnswer,
      memory: createAnswerMemory(),
      keyId: 'k',
      streaming: true,
      accept: undefined,
      nowMs: () => 0,
      onStart: () => {},
    },
  )
  for (let minute = 0; minute < 11 && !client.isGone; minute++) follower.onBeat(60_000, false)
  t.match(await follower.attempt, { kind: 'cancelled' })
})

t.test('an answer that no daemon gives is never passed on, and another cell is asked', async t => {
  const html = (status: number): CellHandler => {
    return (_request, response) => {
      response.writeHead(status, { 'content-type': 'text/html' })
      response.write('<script>')
      endWithUsage(response)
    }
  }
  const foreign = (status: number, code: string): CellHandler => {
    return (_request, response) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: { code } }))
    }
  }
  const evil = [
    html(200),
    html(422),
    foreign(401, 'auth_required'),
    foreign(404, 'not_found'),
    foreign(400, 'invalid_request'),
    foreign(500, 'internal'),
  ]
  for (const handler of evil)
    for (const stream of [true, false]) {
      const { outcomes, url } = await rig(t, { a: handler, b: ok }, stream)
      const response = await ask(url)
      t.equal(response.headers[HEADER_CELL], 'b')
      t.equal(await text(response), '/v1/chat/completions {"a":1}')
      t.match(outcomes, [{ status: 'ok', cellId: 'b' }])
      const alone = await rig(t, { a: handler }, stream)
      const refused = await ask(alone.url)
      t.equal(refused.statusCode, 503)
      t.match(JSON.parse(await text(refused)), { error: { code: 'cell_unavailable' } })
    }
})

t.test('a usage of zero tokens for an answer with text is not believed', async t => {
  const usage = JSON.stringify({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 })
  const claimNothing: CellHandler = (_request, response) => {
    response.writeHead(200, { [HEADER_PROMPT_TOKENS]: '7' })
    response.write('data: role\n\ndata: a\n\ndata: b\n\ndata: c\n\ndata: [DONE]\n\n')
    response.addTrailers({ [TRAILER_USAGE]: usage })
    response.end()
  }
  const streamed = await rig(t, { a: claimNothing }, true)
  t.match(await text(await ask(streamed.url)), /\[DONE\]/)
  t.match(streamed.outcomes, [{ usage: { prompt_tokens: 7, completion_tokens: 3 } }])
  const whole = await rig(t, { a: claimNothing }, false)
  await text(await ask(whole.url))
  t.match(whole.outcomes, [{ status: 'ok', usage: undefined }])
})

/** A request to a cell that says nothing, followed by hand. */
const followSilently = (
  unsentBytes: () => number,
  limitMs: (hasBegun: boolean) => number | undefined,
) => {
  let listener: AnswerListener | undefined
  const link: CellLink = {
    cellId: 'a',
    isOpen: true,
    request: (_, given) => {
      listener = given
      const cancel = () => given.onClose(false)
      return {
        get unsentBytes() {
          return unsentBytes()
        },
        pause() {},
        resume() {},
        cancel,
      }
    },
    roundTripMs: () => undefined,
    close() {},
  }
  const sent: Buffer[] = []
  const client = {
    isGone: false,
    isStalled: false,
    start() {},
    write: (piece: Buffer) => void sent.push(piece),
  } as unknown as ClientAnswer
  const options = {
    client,
    memory: createAnswerMemory(),
    keyId: 'k',
    streaming: true,
    accept: undefined,
    nowMs: () => 0,
    onStart: () => {},
    limitMs,
  }
  const follower = new Follower(link, { method: 'POST', path: '/' }, options)
  return { follower, listener: listener as unknown as AnswerListener }
}

/** Beats every 5 s until the attempt ends; returns the seconds. */
const beatUntilEnd = async (follower: Follower): Promise<number> => {
  let isOpen = true
  follower.attempt.then(() => {
    isOpen = false
  })
  for (let seconds = 5; seconds < 700; seconds += 5) {
    follower.onBeat(5000, false)
    await turn()
    if (!isOpen) return seconds
  }
  return Number.POSITIVE_INFINITY
}

t.test('a cell that answers pings only keeps no request for longer than its limit', async t => {
  const limitMs = (hasBegun: boolean) => (hasBegun ? 30_000 : 60_000)
  for (const [title, unsent, heads, seconds, kind, fault] of [
    ['sends no head', 0, 0, 65, 'retry', 'no_first_byte'],
    ['allows no stream', Number.POSITIVE_INFINITY, 0, 15, 'retry', 'no_first_byte'],
    ['opens no window', 1000, 0, 15, 'retry', 'no_first_byte'],
    ['sends a head and nothing else', 0, 1, 65, 'retry', 'no_first_byte'],
    ['falls silent after an event', 0, 2, 35, 'broken', 'stalled'],
  ] as const) {
    const { follower, listener } = followSilently(() => unsent, limitMs)
    if (heads > 0) listener.onHead(200, { 'content-type': 'text/event-stream' })
    if (heads > 1) listener.onData(Buffer.from('data: 1\n\ndata: 2\n\n'))
    const needed = await beatUntilEnd(follower)
    t.ok(needed <= seconds, `a cell that ${title}: ${needed} s`)
    t.match(await follower.attempt, { kind, fault })
  }
})

t.test('a slow upload, a loading model and a stream with events are waited for', async t => {
  let unsentBytes = 1e6
  const { follower, listener } = followSilently(
    () => unsentBytes,
    () => 30_000,
  )
  for (let beat = 0; beat < 20; beat++) {
    unsentBytes -= 1000
    follower.onBeat(5000, false)
  }
  unsentBytes = 0
  listener.onHead(200, { 'content-type': 'text/event-stream' })
  for (let beat = 0; beat < 20; beat++) {
    listener.onData(Buffer.from(`data: ${beat}\n\n`))
    follower.onBeat(5000, false)
  }
  follower.onBeat(5000, true)
  listener.onClose(false)
  t.match(await follower.attempt, { kind: 'broken', fault: 'reset' })
  const loading = followSilently(
    () => 0,
    () => undefined,
  )
  const seconds = await beatUntilEnd(loading.follower)
  t.ok(seconds > 590 && seconds < 700, `a loading model is waited for ${seconds} s`)
})

t.test('an answer that has not begun moves on as soon as its link is late', async t => {
  const { follower } = followSilently(
    () => 0,
    () => 60_000,
  )
  follower.onBeat(5000, true)
  t.match(await follower.attempt, { kind: 'retry', fault: 'no_first_byte' })
})
