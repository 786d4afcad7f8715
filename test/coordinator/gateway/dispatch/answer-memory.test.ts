import { once } from 'node:events'
import { createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { FREE_BYTES } from '../../../../coordinator/fleet/questions/answer-hold.ts'
import { CELL_SWEEPS, CLIENT_SWEEPS } from '../../../../coordinator/fleet/questions/transfers.ts'
import { dispatch } from '../../../../coordinator/gateway/dispatch/dispatch.ts'
import type {
  Dispatch,
  DispatchOutcome,
  DispatchResult,
} from '../../../../coordinator/gateway/dispatch/dispatch-request.ts'
import type {
  End,
  FailedRequest,
  SentRequest,
} from '../../../../coordinator/gateway/dispatch/lane.ts'
import { Budget } from '../../../../coordinator/kernel/budgets/budget.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { createAnswerMemory } from '../../../support/answer-memory.ts'
import { type CellHandler, endWithUsage, linkCell, USAGE } from '../../../support/cell.ts'
import { waitUntil } from '../../../support/wait-until.ts'

const KIB = 1024
const MIB = 1024 * KIB

const answerWith =
  (bytes: number): CellHandler =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write(Buffer.alloc(bytes, 0x61))
    endWithUsage(response)
  }

/** Begins an answer and never ends it. */
const beginWith =
  (bytes: number): CellHandler =>
  (_request, response) => {
    response.writeHead(200)
    response.write(Buffer.alloc(bytes))
  }

interface RigOptions {
  total?: number
  stream?: boolean
  accept?: () => boolean
  lane?: Dispatch['lane']
  record?: Dispatch['record']
  bodyShare?: Dispatch['bodyShare']
}

/** Cells behind one server; the path of a request names the cells to try, `x-key` its key. */
const rig = async (
  t: Test,
  handlers: Record<string, CellHandler>,
  { total, stream = false, accept, record, ...more }: RigOptions = {},
) => {
  const memory = createAnswerMemory(total)
  const links = Object.entries(handlers).map(([id, handler]) => linkCell(id, handler))
  const cells = await Promise.all(links)
  const outcomes: DispatchOutcome[] = []
  const results: DispatchResult[] = []
  const server = createServer(async (request, response) => {
    const names = String(request.url).split('/').slice(1)
    const engines = names.flatMap(name => {
      const link = cells.find(cell => cell.link.cellId === name)?.link
      return link ? { cellId: name, link, slots: 9, inFlight: 0, others: 0, ready: true } : []
    })
    const result = await dispatch({
      runtime: systemRuntime,
      path: '/v1/chat/completions',
      headers: {},
      body: Buffer.from('{}'),
      response,
      answerHeaders: {},
      stream,
      memory,
      keyId: String(request.headers['x-key'] ?? 'k'),
      pick: tried => engines.find(({ cellId }) => !tried.has(cellId)),
      ...(accept && { accept }),
      ...more,
      record: async outcome => {
        outcomes.push(outcome)
        await record?.(outcome)
      },
    })
    results.push(result)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(async () => {
    server.closeAllConnections()
    server.close()
    for (const cell of cells) await cell.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  /** Sends a request; its answer is not read. */
  const send = (path: string, key = 'k') => {
    const sent = get(`${url}${path}`, { headers: { 'x-key': key }, agent: false })
    sent.on('error', () => {})
    return sent
  }
  const ask = async (path: string, key = 'k') => {
    const [response] = (await once(send(path, key), 'response')) as [IncomingMessage]
    let body = ''
    for await (const piece of response) body += piece
    return { status: response.statusCode, headers: response.headers, body }
  }
  const sweep = (times: number) => {
    for (let i = 0; i < times; i++) memory.transfers.sweep()
  }
  return { ...memory, send, ask, sweep, outcomes, results }
}

t.test('a cell that does not end its answers takes its share and no more', async t => {
  const { budget, send, ask, sweep, outcomes } = await rig(
    t,
    { evil: beginWith(60 * KIB), good: answerWith(50 * KIB) },
    { total: MIB },
  )
  const victims = Array.from({ length: 8 }, () => once(send('/evil/good'), 'response'))
  await waitUntil('the cell reaches its bound', () => (budget.refusals.get('cell') ?? 0) === 4)
  t.equal(budget.readUse('cell', 'evil'), 240 * KIB, 'of its 256 KiB')
  for (const key of ['k', 'other']) t.equal((await ask('/good', key)).status, 200)
  t.ok((await ask('/good', 'other')).body.length === 50 * KIB)
  sweep(CELL_SWEEPS + 1)
  for (const [response] of await Promise.all(victims)) {
    t.match(response.headers, { 'x-shoal-cell': 'good' }, 'another cell has answered instead')
    response.resume()
  }
  t.equal(budget.readUse('cell', 'evil'), 0)
  await waitUntil('all memory is given back', () => budget.used === 0)
  t.ok(outcomes.every(({ status }) => status === 'ok'))
})

t.test('large answers that fill the share of their cell are no fault of it', async t => {
  const release = Promise.withResolvers<void>()
  const large: CellHandler = async (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.on('error', () => {})
    response.write(Buffer.alloc(100 * KIB))
    await release.promise
    if (!response.destroyed) endWithUsage(response)
  }
  const ends: string[] = []
  const faults: string[] = []
  const lane = {
    pick: () => undefined,
    wait: () => undefined,
    reportStart: () => {},
    reportEnd: (_sent: SentRequest, end: End) => void ends.push(end),
    reportFailures: (failures: readonly FailedRequest[]) =>
      void faults.push(...failures.map(({ fault }) => fault)),
  }
  const { ask } = await rig(t, { only: large }, { total: MIB, lane })
  const asked = [ask('/only', 'a'), ask('/only', 'b'), ask('/only', 'c')]
  await waitUntil('one is refused', () => ends.length > 0)
  t.strictSame(ends, ['busy'], 'the cell counts as full')
  release.resolve()
  const answers = await Promise.all(asked)
  t.strictSame(answers.map(({ status }) => status).sort(), [200, 200, 503])
  t.strictSame(faults, [])
})

t.test('a whole answer that comes byte by byte fails by the fault of its cell', async t => {
  const trickle: CellHandler = (_request, response) => {
    response.writeHead(200)
    response.write('x')
    setImmediate(() => response.write('x'))
  }
  const { ask, sweep } = await rig(t, { evil: trickle, good: answerWith(5) })
  const asked = ask('/evil/good')
  const alone = ask('/evil')
  const isDone = Promise.all([asked, alone])
  let isSettled = false
  isDone.finally(() => {
    isSettled = true
  })
  await waitUntil('the requests end', () => {
    sweep(1)
    return isSettled
  })
  t.equal((await asked).body, 'aaaaa')
  t.equal((await alone).status, 503)
  t.match((await alone).body, /evil sent less than 48 KiB of its answer in 30 s/)
})

t.test('a key that reads nothing keeps within its share and blocks no other key', async t => {
  const cells = { a: answerWith(16 * MIB) }
  const { budget, send, ask, sweep } = await rig(t, cells, { total: 128 * MIB })
  let refused: IncomingMessage | undefined
  for (let i = 0; refused === undefined && i < 40; i++) {
    const [response] = (await once(send('/a', 'slow'), 'response')) as [IncomingMessage]
    if (response.statusCode !== 200) refused = response
  }
  t.match(refused, { statusCode: 429, headers: { 'retry-after': '5' } })
  const used = budget.readUse('key', 'slow')
  t.ok(used > 32 * MIB && used <= 64 * MIB, `${used} bytes`)
  t.equal((await ask('/a', 'other')).body.length, 16 * MIB)
  sweep(CLIENT_SWEEPS + 1)
  await waitUntil('all memory is given back', () => budget.used === 0)
})

t.test('a share shrinks as the client reads', async t => {
  const { budget, send } = await rig(t, { a: answerWith(16 * MIB) })
  const [response] = (await once(send('/a'), 'response')) as [IncomingMessage]
  response.pause()
  await waitUntil('the answer is whole', () => budget.readUse('cell', 'a') === 0)
  const before = budget.used
  t.ok(before > 0)
  let read = 0
  for await (const piece of response) {
    read += piece.length
    if (read > 12 * MIB) break
  }
  t.ok(budget.used < 8 * MIB, `${budget.used} of ${before} bytes are held`)
})

t.test('the memory of a request is released before its client has read the answer', async t => {
  const body = new Budget({ total: 100, per: {} })
  const bodyShare = body.open({})
  bodyShare.take(100)
  const { send } = await rig(t, { a: answerWith(16 * MIB) }, { bodyShare })
  await once(send('/a'), 'response')
  t.equal(body.used, 0)
})

t.test('an answer that is being recorded as given is not reclaimed', async t => {
  for (const accept of [undefined, () => false]) {
    const recorded = Promise.withResolvers<void>()
    const { budget, ask, outcomes, results } = await rig(
      t,
      { a: answerWith(100 * KIB) },
      { total: MIB, record: () => recorded.promise, ...(accept && { accept }) },
    )
    const asked = ask('/a', 'greedy')
    if (accept) {
      await waitUntil('the answer is kept', () => results.length === 1)
      const [kept] = results
      if (kept?.kind === 'declined') kept.deliver?.()
    }
    await waitUntil('the answer is being recorded', () => outcomes.length === 1)
    budget.open({}).force(MIB - budget.used)
    t.notOk(budget.open({ key: 'late' }).take(KIB))
    recorded.resolve()
    t.match(await asked, { status: 200, body: 'a'.repeat(100 * KIB) })
    t.match(outcomes, [{ status: 'ok', httpStatus: 200 }])
  }
})

t.test('the largest key without progress gives way when the total is used up', async t => {
  const { budget, send, ask } = await rig(
    t,
    { a: answerWith(12 * MIB), b: answerWith(6 * MIB) },
    { total: 64 * MIB },
  )
  for (const key of ['large', 'larger'])
    for (let i = 0; i < (key === 'large' ? 2 : 3); i++) {
      await once(send('/a', key), 'response')
    }
  const firm = budget.open({ key: 'firm' })
  t.ok(firm.take(budget.limits.total - budget.used - MIB))
  t.equal((await ask('/b', 'small')).body.length, 6 * MIB)
  t.ok(budget.reclaimed > 0)
  firm.close()
})

t.test('answers for which there is no room in all are refused; small ones continue', async t => {
  const { budget, ask, outcomes } = await rig(
    t,
    { large: answerWith(FREE_BYTES + 1), small: answerWith(FREE_BYTES) },
    { total: MIB },
  )
  const firm = budget.open({})
  firm.take(MIB)
  const refused = await ask('/large')
  t.equal(refused.status, 503)
  t.equal(refused.headers['retry-after'], '1')
  t.match(outcomes, [{ status: 'refused', cellId: 'large', httpStatus: 503 }])
  t.equal((await ask('/small')).status, 200)
  firm.close()
  t.equal((await ask('/large')).status, 200)
})

t.test('a large error of a cell counts as a failure and is not kept', async t => {
  const shout: CellHandler = (_request, response) => {
    response.writeHead(422, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ error: { message: 'x'.repeat(70 * KIB) } }))
  }
  const { ask } = await rig(t, { shout, good: answerWith(5) })
  t.equal((await ask('/shout/good')).headers['x-shoal-cell'], 'good')
})

t.test('an answer that the cascade keeps counts, and goes when its memory is needed', async t => {
  const { budget, send, results } = await rig(t, { a: answerWith(MIB) }, { accept: () => false })
  const clients = [send('/a'), send('/a')]
  await waitUntil('two answers are kept', () => results.length === 2)
  t.equal(budget.used, 2 * MIB)
  const [first, second] = results
  if (first?.kind !== 'declined' || second?.kind !== 'declined') return t.fail('not declined')
  t.match(first.usage, USAGE)
  first.discard()
  t.equal(first.deliver, undefined)
  t.equal(budget.used, MIB)
  await Promise.all([second.deliver?.(), once(clients[1] ?? t, 'response')])
  for (const client of clients) client.destroy()
  await waitUntil('all memory is given back', () => budget.used === 0)
})

t.test('what a client does not read of a stream counts, and the stream is cut', async t => {
  const flood: CellHandler = (_request, response) => {
    response.writeHead(200)
    const more = (): void => {
      while (response.write(`data: ${'x'.repeat(32 * KIB)}\n\n`)) {}
      response.once('drain', more)
    }
    more()
  }
  const { budget, send, sweep, outcomes } = await rig(t, { flood }, { stream: true })
  const [response] = (await once(send('/flood', 'slow'), 'response')) as [IncomingMessage]
  response.on('error', () => {})
  await waitUntil(
    'the stream waits for its client',
    () => budget.readUse('key', 'slow') > budget.readUse('cell', 'flood'),
  )
  t.ok(budget.used < 512 * KIB, `${budget.used} bytes`)
  sweep(CLIENT_SWEEPS + 1)
  await waitUntil('the request is recorded', () => outcomes.length === 1)
  t.match(outcomes, [{ status: 'cancelled' }])
  t.equal(budget.used, 0)
})
