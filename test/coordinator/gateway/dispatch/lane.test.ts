import { once } from 'node:events'
import { createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { Standstill } from '../../../../coordinator/fleet/cells/standstill.ts'
import { believeClaims, claim, healthOf } from '../../../../coordinator/fleet/routing/engine.ts'
import { type CellEngine, Router } from '../../../../coordinator/fleet/routing/router.ts'
import { createTrails, trailOf } from '../../../../coordinator/fleet/routing/trails.ts'
import { dispatch } from '../../../../coordinator/gateway/dispatch/dispatch.ts'
import type { DispatchOutcome } from '../../../../coordinator/gateway/dispatch/dispatch-request.ts'
import { createLanes } from '../../../../coordinator/gateway/dispatch/lane.ts'
import { WaitQueue } from '../../../../coordinator/gateway/dispatch/wait-queue.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { callAfterBy, systemRuntime } from '../../../../shared/runtime.ts'
import { HEADER_CELL, HEADER_PROMPT_TOKENS } from '../../../../shared/wire/link.ts'
import { sseError } from '../../../../shared/wire/sse.ts'
import { createAnswerMemory } from '../../../support/answer-memory.ts'
import { type CellHandler, endWithUsage, type LinkedCell, linkCell } from '../../../support/cell.ts'

/** A client-facing server before real links, with the real router and queue between them. */
const rig = async (t: Test, handlers: Record<string, CellHandler>, maxWaitMs = 30_000) => {
  const nowMs = () => performance.now()
  const router = new Router(Math.random, nowMs)
  const limits = { length: 100, maxWaitMs, restartMs: 30_000 }
  const queue = new WaitQueue({ limits, router, nowMs, callAfter: callAfterBy(systemRuntime) })
  const lanes = createLanes({ router, queue, trails: createTrails(nowMs), nowMs })
  const cells: Record<string, LinkedCell> = {}
  const engines: Record<string, CellEngine> = {}
  const serve = (id: string): void => router.update(id, new Map([['m', engines[id] as CellEngine]]))
  for (const [id, handler] of Object.entries(handlers)) {
    const cell = await linkCell(id, handler)
    t.teardown(() => cell.close())
    cells[id] = cell
    cell.isDown.then(() => router.update(id, new Map()))
    engines[id] = {
      cellId: id,
      link: cell.link,
      slots: 1,
      queue: 0,
      inFlight: 0,
      others: 0,
      ready: true,
    }
    serve(id)
  }
  const outcomes: DispatchOutcome[] = []
  const running = new Set<Promise<unknown>>()
  const server = createServer((_request, response) => {
    const lane = lanes({ model: 'm', keyId: 'k' })
    const asked = dispatch({
      runtime: systemRuntime,
      path: '/v1/chat/completions',
      headers: {},
      body: Buffer.from('{}'),
      response,
      answerHeaders: {},
      stream: true,
      memory: createAnswerMemory(),
      keyId: 'k',
      pick: tried => lane.pick(tried),
      lane,
      record: async outcome => void outcomes.push(outcome),
    })
    running.add(asked)
    asked.finally(() => running.delete(asked))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    queue.close()
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const waiting = async (count: number): Promise<void> => {
    while ((queue.lengths().get('m') ?? 0) !== count) await turn()
  }
  const waitUntilSettled = async (): Promise<void> => {
    while (running.size > 0) await Promise.all(running)
  }
  return { router, queue, cells, engines, outcomes, url, serve, waiting, waitUntilSettled }
}

const turn = (): Promise<void> => new Promise(done => setImmediate(done))

const ask = (url: string) => {
  const request = get(url)
  request.on('error', () => {})
  const answer = once(request, 'response').then(async ([response]) => {
    let body = ''
    for await (const piece of response as IncomingMessage) body += piece
    const { statusCode, headers } = response as IncomingMessage
    return { status: statusCode, headers, body }
  })
  answer.catch(() => {})
  return { request, answer }
}

/** Answers when it is told to. */
const createHeldCell = () => {
  const answers: (() => void)[] = []
  const handler: CellHandler = (_request, response) => {
    answers.push(() => {
      response.writeHead(200)
      response.write('data: 1\n\n')
      endWithUsage(response)
    })
  }
  const waitForRequests = async (count: number): Promise<void> => {
    while (answers.length < count) await turn()
  }
  return { handler, waitForRequests, answer: (index: number) => answers[index]?.() }
}

const refuses: CellHandler = (_request, response) => {
  response.writeHead(503, { 'retry-after': '1' }).end('{"error":{"message":"no slot"}}')
}

t.test('a request that no cell has room for waits and is served next', async t => {
  const cell = createHeldCell()
  const { url, waiting, engines } = await rig(t, { a: cell.handler })
  const first = ask(url)
  await cell.waitForRequests(1)
  const second = ask(url)
  await waiting(1)
  cell.answer(0)
  t.equal((await first.answer).status, 200)
  await cell.waitForRequests(2)
  cell.answer(1)
  t.equal((await second.answer).headers[HEADER_CELL], 'a')
  t.equal(engines.a?.inFlight, 0)
})

t.test('a full cell is asked again, and others in the meantime', async t => {
  const cell = createHeldCell()
  let isFull = true
  const { url, waiting } = await rig(t, {
    a: (request, response) => (isFull ? refuses : cell.handler)(request, response),
  })
  const { answer } = ask(url)
  await waiting(1)
  isFull = false
  await cell.waitForRequests(1)
  cell.answer(0)
  t.equal((await answer).status, 200)
})

t.test('a client that leaves while waiting leaves the queue and is not charged', async t => {
  const cell = createHeldCell()
  const { url, waiting, outcomes, waitUntilSettled, engines } = await rig(t, { a: cell.handler })
  const first = ask(url)
  await cell.waitForRequests(1)
  const second = ask(url)
  await waiting(1)
  second.request.destroy()
  await waiting(0)
  cell.answer(0)
  await first.answer
  await waitUntilSettled()
  t.match(outcomes, [
    { status: 'refused', cellId: undefined, httpStatus: undefined },
    { status: 'ok' },
  ])
  t.equal(engines.a?.inFlight, 0)
})

t.test('a wait that exceeds its limit ends with 503 and Retry-After', async t => {
  const { url } = await rig(t, { a: refuses }, 1)
  const { status, headers, body } = await ask(url).answer
  t.equal(status, 503)
  t.equal(headers['retry-after'], '1')
  t.match(JSON.parse(body), { error: { code: 'cell_unavailable' } })
})

t.test('a model that no cell serves is refused at once', async t => {
  const { url } = await rig(t, {})
  t.equal((await ask(url).answer).status, 503)
})

t.test('a request waits for a model whose engine is restarting', async t => {
  const cell = createHeldCell()
  const { url, router, queue, engines, serve, waiting } = await rig(t, { a: cell.handler })
  router.update('a', new Map())
  const { answer } = ask(url)
  await waiting(1)
  serve('a')
  queue.offer(engines.a as CellEngine)
  await cell.waitForRequests(1)
  cell.answer(0)
  t.equal((await answer).status, 200)
})

t.test('a request that crashes engines is tried on two of them at most', async t => {
  let killed = 0
  const cells = await rig(t, {
    a: (request, response) => {
      // the engine dies with the request on it and is back soon
      killed++
      cells.router.update('a', new Map())
      refuses(request, response)
      setImmediate(() => {
        cells.serve('a')
        if (cells.engines.a) cells.queue.offer(cells.engines.a)
      })
    },
  })
  t.equal((await ask(cells.url).answer).status, 503)
  t.equal(killed, 2)
})

t.test('a request is not given up for one death of an engine that was reported late', async t => {
  let asked = 0
  const cell = createHeldCell()
  const cells = await rig(t, {
    a: (request, response) => {
      if (++asked > 2) return cell.handler(request, response)
      refuses(request, response)
      // the report of its death comes after a second refusal
      if (asked === 2) cells.router.update('a', new Map())
    },
  })
  const { answer } = ask(cells.url)
  while (asked < 2) await turn()
  await cells.waiting(1)
  cells.serve('a')
  cells.queue.offer(cells.engines.a as CellEngine)
  await cell.waitForRequests(1)
  cell.answer(0)
  t.equal((await answer).status, 200)
})

for (const [how, end] of [
  ['is killed', cell => cell.cut()],
  // what the ping does to one that is unplugged
  ['is cut off', cell => cell.link.close()],
] as [string, (cell: LinkedCell) => void][])
  t.test(`waiting requests keep their place when a cell ${how}`, async t => {
    const dying = createHeldCell()
    const living = createHeldCell()
    const handlers = { a: dying.handler, b: living.handler }
    const { url, cells, engines, waiting } = await rig(t, handlers)
    const asked = [ask(url), ask(url)]
    await dying.waitForRequests(1)
    await living.waitForRequests(1)
    for (let more = 0; more < 4; more++) asked.push(ask(url))
    await waiting(4)
    end(cells.a as LinkedCell)
    await cells.a?.isDown
    // the one that the cell had waits with them
    await waiting(5)
    for (let place = 0; place < asked.length; place++) {
      await living.waitForRequests(place + 1)
      living.answer(place)
    }
    const answers = await Promise.all(asked.map(({ answer }) => answer))
    t.strictSame(
      answers.map(({ status, headers }) => [status, headers[HEADER_CELL]]),
      asked.map(() => [200, 'b']),
    )
    t.match([engines.a?.inFlight, engines.b?.inFlight], [0, 0])
  })

t.test('answers lay trails, and a broken stream removes them', async t => {
  const cell = createHeldCell()
  let breaks = false
  const { url, engines, waitUntilSettled } = await rig(t, {
    a: (request, response) => {
      if (!breaks) return cell.handler(request, response)
      response.writeHead(200).end('data: {"error":{}}\n\n')
    },
  })
  const { answer } = ask(url)
  await cell.waitForRequests(1)
  cell.answer(0)
  await answer
  await waitUntilSettled()
  const laid = engines.a?.trail?.level ?? 0
  t.ok(laid > 0)
  breaks = true
  await ask(url).answer
  await waitUntilSettled()
  t.ok(trailOf(engines.a as CellEngine, performance.now()) < laid)
})

t.test('an answer that waits for the model to be loaded measures no time of service', async t => {
  const { url, engines, waitUntilSettled } = await rig(t, { a: answersAtOnce })
  const engine = engines.a as CellEngine
  for (const [isReady, measured] of [
    [false, 0],
    [true, 1],
  ] as const) {
    engine.ready = isReady
    t.equal((await ask(url).answer).status, 200)
    await waitUntilSettled()
    t.equal(engine.health?.serviceMs.count, measured)
  }
  t.equal(engine.health?.served, 2)
})

for (const ending of ['leaves', 'fails'] as const)
  t.test(
    `a stream whose ${ending === 'leaves' ? 'client' : 'cell'} ${ending} is recorded with its usage`,
    async t => {
      let end: () => void = () => {}
      const { url, outcomes, waitUntilSettled } = await rig(t, {
        a: (_request, response) => {
          response.writeHead(200, { [HEADER_PROMPT_TOKENS]: '17' })
          response.write('data: {"role"}\n\n: keepalive\n\ndata: 1\n\ndata: 2\n\n')
          response.write('data: 3\n')
          response.write('\n')
          end = () => response.end('event: error\ndata: {"error":{}}\n\n')
        },
      })
      const request = get(url)
      request.on('error', () => {})
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      let text = ''
      response.on('error', () => {})
      response.on('data', piece => {
        text += piece
      })
      while (!text.endsWith('data: 3\n\n')) await turn()
      if (ending === 'leaves') request.destroy()
      else end()
      while (outcomes.length === 0) await turn()
      await waitUntilSettled()
      const status = ending === 'leaves' ? 'cancelled' : 'failed'
      t.match(outcomes, [{ status, cellId: 'a', usage: { prompt_tokens: 17 } }])
      const { completion_tokens = 0 } = outcomes[0]?.usage ?? {}
      // an event that came in two pieces may go uncounted
      t.ok(completion_tokens === 2 || completion_tokens === 3, `${completion_tokens} tokens`)
    },
  )

const answersAtOnce: CellHandler = (_request, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream', [HEADER_PROMPT_TOKENS]: '3' })
  response.write('data: 1\n\n')
  endWithUsage(response)
}
const resets: CellHandler = (_request, response) => response.stream.close(2)

t.test('while half of the cells reset every stream, all requests reach the others', async t => {
  const handlers = { a: resets, b: answersAtOnce, c: resets, d: answersAtOnce }
  const { url, engines, waitUntilSettled } = await rig(t, handlers)
  const asked = Array.from({ length: 100 }, () => ask(url))
  const answers = await Promise.all(asked.map(({ answer }) => answer))
  t.strictSame([...new Set(answers.map(({ status }) => status))], [200])
  await waitUntilSettled()
  const states = Object.values(engines).map(({ health }) => health?.breaker.isClosed)
  t.strictSame(states, [false, true, false, true])
  t.match(engines.a?.health, { lastFault: 'reset' })
})

t.test('a half-open cell is probed with copies, for which no client waits', async t => {
  const silent = createHeldCell()
  const { url, engines, waitUntilSettled } = await rig(t, { a: silent.handler, b: answersAtOnce })
  const { breaker } = healthOf(engines.a as CellEngine)
  const longAgoMs = performance.now() - 10_000
  for (let failures = 0; failures < 3; failures++) breaker.noteFault(longAgoMs, longAgoMs)
  for (let asked = 0; asked < 20; asked++)
    t.equal((await ask(url).answer).headers[HEADER_CELL], 'b')
  await waitUntilSettled()
  await silent.waitForRequests(1)
  t.notOk(breaker.isClosed)
  silent.answer(0)
  while (!breaker.isClosed) await turn()
  t.match([engines.a?.inFlight, engines.b?.inFlight], [0, 0])
  t.equal(engines.a?.health?.served, 1)
})

t.test('cells that were only silent and are lost later count as killed by no request', async t => {
  const nobody = { pause() {}, resume() {}, cancel() {}, unsentBytes: 0 }
  const handlers = { a: resets, b: resets, c: answersAtOnce }
  const { url, engines, router } = await rig(t, handlers)
  // the last to be chosen
  Object.assign(engines.c as CellEngine, { others: 50 })
  for (const id of ['a', 'b']) {
    const { link } = engines[id] as CellEngine
    link.request = (_request, listener) => {
      queueMicrotask(() => {
        // one beat without an answer to its ping, and then the link is lost
        listener.onBeat?.(5000, true)
        listener.onClose(false)
        router.update(id, new Map())
      })
      return { ...nobody, cancel: () => listener.onClose(false) }
    }
  }
  for (let asked = 0; asked < 4; asked++) t.equal((await ask(url).answer).headers[HEADER_CELL], 'c')
})

t.test('a request that met one silent cell is not sent to another', async t => {
  for (const isBusy of [false, true]) {
    const { url, engines } = await rig(t, { a: resets, b: resets, c: answersAtOnce })
    let silences = 0
    for (const id of ['a', 'b']) {
      const engine = engines[id] as CellEngine
      // it answers none of its requests
      Object.assign(engine, { slots: 64, inFlight: 3 })
      engine.link.request = (_request, listener) => {
        silences++
        queueMicrotask(() => listener.onBeat?.(5000, true))
        const cancel = () => listener.onClose(false)
        return { pause() {}, resume() {}, cancel, unsentBytes: 0 }
      }
    }
    const sound = engines.c as CellEngine
    // the last to be chosen
    Object.assign(sound, { slots: 64, inFlight: isBusy ? 5 : 0, others: 50 })
    if (isBusy) healthOf(sound).noteServed(performance.now(), 5, undefined)
    t.equal((await ask(url).answer).headers[HEADER_CELL], 'c')
    t.equal(silences, 1)
  }
})

t.test('a stream that its daemon ends with an error is a failure of the engine', async t => {
  const { url, engines, waitUntilSettled } = await rig(t, {
    a: (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: 1\n\n')
      response.end(sseError(new ShoalError('cell_unavailable', 'the engine was ended by SIGKILL')))
    },
  })
  t.match((await ask(url).answer).body, /ended by SIGKILL/)
  await waitUntilSettled()
  t.equal(engines.a?.health?.lastFault, 'engine_failed')
})

t.test('a request on which all cells fail opens the breakers of two of them at most', async t => {
  const handlers = Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map(id => [id, resets]))
  const { url, engines, waitUntilSettled } = await rig(t, handlers, 1)
  for (let asked = 0; asked < 20; asked++) t.equal((await ask(url).answer).status, 503)
  await waitUntilSettled()
  const closed = Object.values(engines).filter(({ health }) => health?.breaker.isClosed !== false)
  t.ok(closed.length >= 3, `${closed.length} of 5 breakers are closed`)
})

t.test(
  'failures of requests that were under way in a standstill count against no cell',
  async t => {
    let nowMs = 0
    const standstill = new Standstill()
    const faults: string[] = []
    const engine = { cellId: 'a', slots: 1, inFlight: 0, others: 0, ready: true } as CellEngine
    const lane = createLanes({
      router: new Router(),
      queue: { enter: () => undefined, offer: () => {}, offerPlace: () => {} },
      trails: createTrails(() => nowMs),
      standstill,
      onFault: fault => faults.push(fault),
      onBreaker: (_engine, isClosed) => faults.push(isClosed ? 'closed' : 'open'),
      nowMs: () => nowMs,
    })({ model: 'm', keyId: 'k' })
    const fail = (sentAtMs: number): void => {
      lane.reportEnd({ engine, sentAtMs }, 'failed')
      lane.reportFailures([{ engine, sentAtMs, fault: 'link_lost' }], true)
    }
    standstill.measure(0)
    nowMs = 15_000
    // sockets are read before the next sweep, and after it
    fail(-100)
    standstill.measure(nowMs)
    for (let more = 0; more < 4; more++) fail(-100)
    t.strictSame([faults, engine.health?.failed ?? 0], [[], 0])
    nowMs = 17_000
    standstill.measure(nowMs)
    fail(16_500)
    t.strictSame([faults, engine.health?.failed], [['link_lost'], 1])
    fail(16_500)
    fail(16_500)
    lane.reportEnd({ engine, sentAtMs: 17_000 }, 'served')
    t.strictSame(faults.slice(1), ['link_lost', 'link_lost', 'open', 'closed'])
  },
)

t.test('running streams prove an engine, so that it is given 10,000 of them', async t => {
  const nowMs = () => 0
  const router = new Router(Math.random, nowMs)
  const queue = new WaitQueue({
    limits: { length: 100, maxWaitMs: 30_000, restartMs: 30_000 },
    router,
    nowMs,
    callAfter: () => () => {},
  })
  const lane = createLanes({ router, queue, trails: createTrails(nowMs), nowMs })({
    model: 'm',
    keyId: 'k',
  })
  const engine = {
    cellId: 'a',
    slots: 1,
    inFlight: 0,
    others: 0,
    ready: true,
    claims: { slots: 4096, queue: 100_000 },
  } as CellEngine
  believeClaims(engine)
  router.update('a', new Map([['m', engine]]))
  const takePlace = (): boolean => {
    const picked = lane.pick(new Set())
    if (picked !== undefined) claim(picked, 0)
    return picked !== undefined
  }
  while (engine.inFlight < 10_000 && takePlace());
  t.equal(engine.inFlight, 1088, 'an engine that has proven nothing is full')
  const turns = Array.from({ length: 50 }, () => lane.wait()?.turn)
  lane.reportStart({ engine, sentAtMs: 0 })
  await Promise.all(turns)
  t.equal(engine.inFlight, 1138, 'those that waited have a place')
  while (engine.inFlight < 10_000 && takePlace()) lane.reportStart({ engine, sentAtMs: 0 })
  t.equal(engine.inFlight, 10_000)
  t.equal(engine.slots, 4096)
})
