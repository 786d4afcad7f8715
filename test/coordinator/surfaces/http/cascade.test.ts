import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import type { NewUsage } from '../../../../coordinator/access/quota/usage.ts'
import type { CellEngine } from '../../../../coordinator/fleet/routing/router.ts'
import { appWith } from '../../../support/app.ts'
import { type CellHandler, endWithUsage, linkCell } from '../../../support/cell.ts'
import { waitUntil } from '../../../support/wait-until.ts'

const SO_FAR = { prompt_tokens: 7, completion_tokens: 32, total_tokens: 39 }

interface Seen {
  model: string
  judge: string | undefined
}

/** Models with the confidence their answers have; one that is not given is served by no cell. */
const rig = async (
  t: Test,
  confidences: Record<string, number | 'full' | 'silent' | 'refuses'>,
) => {
  const seen: Seen[] = []
  const left = latch()
  const handler: CellHandler = async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece)
    const body = JSON.parse(Buffer.concat(pieces).toString())
    const judge = request.headers['x-shoal-judge'] as string | undefined
    seen.push({ model: body.model, judge })
    const confidence = confidences[body.model]
    if (confidence === 'silent') return response.stream.once('close', () => left.open())
    if (confidence === 'full') {
      response.writeHead(503, { 'content-type': 'application/json' })
      response.end('{"error":{"message":"full"}}')
      return
    }
    if (confidence === 'refuses') {
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end('{"error":{"message":"the context is too long","code":"context_length"}}')
      return
    }
    const headers = judge === undefined ? {} : { 'x-shoal-confidence': String(confidence) }
    if (body.stream !== true) {
      response.writeHead(200, { 'content-type': 'application/json', ...headers })
      response.write(JSON.stringify({ model: body.model }))
      return endWithUsage(response)
    }
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'x-shoal-usage-so-far': JSON.stringify(SO_FAR),
      ...headers,
    })
    response.write(`data: {"model":"${body.model}"}\n\n`)
    response.write('data: [DONE]\n\n')
    endWithUsage(response)
  }
  const cell = await linkCell('a', handler)
  const engine: CellEngine = {
    cellId: 'a',
    link: cell.link,
    slots: 1,
    inFlight: 0,
    others: 0,
    ready: true,
  }
  const serves = (model: string): boolean => confidences[model] !== undefined
  const rows: NewUsage[] = []
  const cancelled = latch()
  let admitted = 0
  const app = await appWith({
    fleet: {
      pick: (model, tried) => (serves(model) && !tried?.has('a') ? engine : undefined),
      cells: () => [],
      serves,
      roundTripsMs: () => [],
    },
    quota: {
      standing: () => ({ limit: 9, remaining: 9, resetSeconds: 1, burst: 9, minuteLimit: 9 }),
      admit: () => {
        admitted++
        return { refund: () => void admitted-- }
      },
    },
    usage: {
      record: async row => {
        rows.push(row)
        if (row.status === 'cancelled') cancelled.open()
      },
    },
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(async () => {
    await app.close()
    await cell.close()
  })
  const { port } = app.server.address() as AddressInfo
  const post = (key: string, more: object = {}) => {
    const asked = httpRequest({
      port,
      host: '127.0.0.1',
      method: 'POST',
      path: '/v1/chat/completions',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    })
    const messages = [{ role: 'user', content: 'hi' }]
    asked.end(JSON.stringify({ model: 'auto', messages, ...more }))
    return asked
  }
  const ask = async (key: string, more: object = {}) => {
    const [response] = await once(post(key, more), 'response')
    let text = ''
    for await (const piece of response) text += piece
    return { status: response.statusCode, headers: response.headers, text }
  }
  return { ask, post, seen, rows, engine, left, cancelled, admitted: () => admitted }
}

/** Something to wait for. */
const latch = () => {
  let open: () => void = () => {}
  const opened = new Promise<void>(resolve => {
    open = resolve
  })
  return { open, opened }
}

/** What a row says of its tokens. */
const brief = ({ model, status, prompt_tokens, completion_tokens }: NewUsage) =>
  `${model} ${status} ${prompt_tokens}+${completion_tokens}`

t.test('a request for auto', async t => {
  t.test('is answered by the smallest confident model', async t => {
    const { ask, seen, rows } = await rig(t, { 'model-b:3b': -0.1, 'model-c:7b': -0.1 })
    const { headers, text } = await ask('pro-key')
    t.equal(text, '{"model":"model-b:3b"}')
    t.equal(headers['x-shoal-cascade'], 'model-b:3b;confidence=-0.100')
    t.strictSame(seen, [{ model: 'model-b:3b', judge: '32' }])
    t.strictSame(rows.map(brief), ['model-b:3b ok 3+2'])
  })

  t.test('counts once and leaves a row for each discarded answer', async t => {
    const { ask, rows, admitted } = await rig(t, { 'model-b:3b': -2, 'model-c:7b': -1 })
    const { headers, text } = await ask('pro-key')
    t.equal(text, '{"model":"model-c:7b"}')
    t.equal(
      headers['x-shoal-cascade'],
      'model-b:3b;confidence=-2.000, model-c:7b;confidence=-1.000',
    )
    t.strictSame(rows.map(brief), ['model-b:3b discarded 3+2', 'model-c:7b ok 3+2'])
    t.equal(admitted(), 1)
  })

  t.test('cuts a stream that is not confident and reports its usage', async t => {
    const { ask, rows, seen, engine } = await rig(t, { 'model-b:3b': -2, 'model-c:7b': -1 })
    const { headers, text } = await ask('pro-key', { stream: true })
    t.equal(text, 'data: {"model":"model-c:7b"}\n\ndata: [DONE]\n\n')
    t.equal(headers['x-shoal-cascade'], 'model-b:3b;confidence=-2.000, model-c:7b')
    t.strictSame(
      seen.map(({ judge }) => judge),
      ['32', undefined],
      'the first token of the last one is not held back',
    )
    t.strictSame(rows.map(brief), ['model-b:3b discarded 7+32', 'model-c:7b ok 3+2'])
    t.equal(engine.inFlight, 0)
  })

  t.test('falls back to the smaller model when the larger is full', async t => {
    for (const [stream, asked, rows] of [
      [false, ['model-b:3b', 'model-c:7b'], ['model-b:3b ok 3+2']],
      [
        true,
        ['model-b:3b', 'model-c:7b', 'model-b:3b'],
        ['model-b:3b discarded 7+32', 'model-b:3b ok 3+2'],
      ],
    ] as const) {
      const result = await rig(t, { 'model-b:3b': -2, 'model-c:7b': 'full' })
      const { status, text, headers } = await result.ask('pro-key', { stream })
      t.equal(status, 200)
      t.match(text, /"model":"model-b:3b"/)
      t.match(headers['x-shoal-cascade'], /^model-b:3b;confidence=-2.000, model-c:7b, model-b:3b/)
      t.strictSame(
        result.seen.map(({ model }) => model),
        asked,
      )
      t.strictSame(result.rows.map(brief), rows)
    }
  })

  t.test("returns the smaller model's answer when the larger one refuses the request", async t => {
    for (const stream of [false, true]) {
      const cascade = await rig(t, { 'model-b:3b': -2, 'model-c:7b': 'refuses' })
      const { status, text } = await cascade.ask('pro-key', { stream })
      t.equal(status, 200)
      t.match(text, /"model":"model-b:3b"/)
      t.equal(cascade.rows.at(-1)?.status, 'ok')
      t.equal(cascade.admitted(), 1)
    }
  })

  t.test('leaves no work behind when its client leaves between two models', async t => {
    for (const stream of [false, true]) {
      const cascade = await rig(t, { 'model-b:3b': -2, 'model-c:7b': 'silent' })
      const asked = cascade.post('pro-key', { stream })
      asked.on('error', () => {})
      await waitUntil('the second model is asked', () => cascade.seen.length === 2)
      asked.destroy()
      await cascade.left.opened
      await cascade.cancelled.opened
      const discarded = stream ? '7+32' : '3+2'
      t.strictSame(cascade.rows.map(brief), [
        `model-b:3b discarded ${discarded}`,
        'model-c:7b cancelled null+null',
      ])
      t.equal(cascade.engine.inFlight, 0)
    }
  })

  t.test('uses model-a:7b on Free', async t => {
    const { ask, seen } = await rig(t, { 'model-a:7b': -5, 'model-b:3b': -0.1 })
    const { headers } = await ask('free-key', { stream: true })
    t.equal(headers['x-shoal-cascade'], 'model-a:7b')
    t.strictSame(seen, [{ model: 'model-a:7b', judge: undefined }])
  })

  t.test('costs nothing when no model can answer', async t => {
    const { ask, rows, admitted } = await rig(t, { 'model-b:3b': 'full', 'model-c:7b': 'full' })
    const { status, text, headers } = await ask('pro-key')
    t.equal(status, 503)
    t.equal(JSON.parse(text).error.code, 'cell_unavailable')
    t.equal(headers['x-shoal-cascade'], 'model-b:3b, model-c:7b')
    t.strictSame(rows, [])
    t.equal(admitted(), 0)
  })

  t.test('is for chat only, and absent from the list of models', async t => {
    const app = await appWith()
    t.teardown(() => app.close())
    const headers = { authorization: 'Bearer enterprise-key' }
    const payload = { model: 'auto', input: 'a' }
    const embed = await app.inject({ method: 'POST', url: '/v1/embeddings', headers, payload })
    t.match(embed.json().error, {
      code: 'invalid_model',
      message: /auto is only available for chat completions/,
    })
    const { data } = (await app.inject({ url: '/v1/models', headers })).json()
    t.notOk(data.some(({ id }: { id: string }) => id === 'auto'))
  })
})
