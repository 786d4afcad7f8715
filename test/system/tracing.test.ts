import type { AddressInfo } from 'node:net'
import { trace } from '@opentelemetry/api'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import t, { type Test } from 'tap'
import type { AppParts } from '../../coordinator/assembly/app.ts'
import type { CellEngine } from '../../coordinator/fleet/routing/router.ts'
import { createHandler } from '../../daemon/inference/handler.ts'
import type { EngineEvent } from '../../daemon/inference/jobs.ts'
import { SHIPPED_CATALOGUE } from '../../shared/catalogue.ts'
import { ShoalError } from '../../shared/errors.ts'
import { appWith, config } from '../support/app.ts'
import { type CellHandler, linkCell, silent } from '../support/cell.ts'

/* Coordinator and cell in one process, so that one exporter sees the spans of both. */

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const CALLER = `00-${TRACE}-b7ad6b7169203331-01`

type Play = (listener: (event: EngineEvent) => void) => void

const answerWell: Play = listener => {
  listener({ type: 'start', job: 1, promptTokens: 7, cachedTokens: 4, maxTokens: 9 })
  listener({ type: 'text', job: 1, text: 'hi' })
  listener({ type: 'end', job: 1, reason: 'stop', completionTokens: 2 })
}

/** The real front and the real handler of a cell, on a real link; the engine plays a part. */
const rig = async (
  t: Test,
  play: Play,
  parts: Partial<AppParts> = {},
  refusal: ShoalError | undefined = undefined,
) => {
  const { catalogue } = config()
  const entry = catalogue[0]
  if (entry === undefined) throw new Error('no catalogue')
  const engine = {
    submit: (_work: unknown, _bytes: number, listener: (event: EngineEvent) => void) => {
      if (refusal) throw refusal
      setImmediate(() => play(listener))
      return () => {}
    },
  }
  const seen: Record<string, unknown>[] = []
  const handle = createHandler({
    engines: { find: model => ({ entry: { ...entry, id: model, kind: kindOf(model) }, engine }) },
    catalogue,
    logger: silent,
    now: Date.now,
    newId: () => 'id',
    newSeed: () => 1,
    repeat: () => () => {},
  })
  const cell = await linkCell('cell-a', ((request, response) => {
    seen.push(request.headers)
    handle(request, response)
  }) as CellHandler)
  const chosen: CellEngine = {
    cellId: 'cell-a',
    link: cell.link,
    slots: 1,
    inFlight: 0,
    others: 0,
    ready: true,
  }
  const app = await appWith({
    fleet: {
      pick: (_model, tried) => (tried?.has('cell-a') ? undefined : chosen),
      cells: () => [],
      serves: () => true,
      roundTripsMs: () => [],
    },
    ...parts,
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(async () => {
    await app.close()
    await cell.close()
  })
  const { port } = app.server.address() as AddressInfo
  const ask = (path: string, body: object, headers: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: {
        authorization: 'Bearer pro-key',
        'content-type': 'application/json',
        'x-request-id': 'my-request',
        ...headers,
      },
      body: JSON.stringify(body),
    }).then(async response => {
      await response.arrayBuffer()
      return response.status
    })
  return { ask, seen, port }
}

const kindOf = (model: string) =>
  SHIPPED_CATALOGUE.find(each => each.id === model)?.kind === 'embedding' ? 'embedding' : 'chat'

const CHAT = {
  model: 'model-a:7b',
  messages: [{ role: 'user', content: 'a secret' }],
  temperature: 0.5,
  max_tokens: 9,
}

t.test('tracing without an SDK', async t => {
  t.test("passes the caller's headers to the cell and invents nothing", async t => {
    const { ask, seen } = await rig(t, answerWell)
    const state = { traceparent: CALLER, tracestate: 'a=b' }
    t.equal(await ask('/v1/chat/completions', CHAT, state), 200)
    t.match(seen[0], { ...state, 'x-request-id': 'my-request' })
    t.equal(await ask('/v1/chat/completions', CHAT), 200)
    t.equal(await ask('/v1/chat/completions', CHAT, { traceparent: 'nonsense' }), 200)
    for (const headers of seen.slice(1)) {
      t.notOk('traceparent' in headers)
      t.equal(headers['x-request-id'], 'my-request')
    }
  })
})

t.test('tracing with an SDK', async t => {
  const exporter = new InMemorySpanExporter()
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
  )
  /** Spans that have ended, as soon as there are so many: the last may end after its answer. */
  const spans = async (count: number): Promise<ReadableSpan[]> => {
    while (exporter.getFinishedSpans().length < count) await new Promise(setImmediate)
    const found = exporter.getFinishedSpans()
    exporter.reset()
    return found
  }
  const partsOf = (found: ReadableSpan[]) => {
    const coordinator = found.find(span => 'server.port' in span.attributes)
    const cell = found.find(span => span !== coordinator)
    return { coordinator, cell }
  }

  t.test('records a chat as a span of the coordinator with one of the cell within it', async t => {
    const { ask, seen, port } = await rig(t, answerWell)
    t.equal(
      await ask('/v1/chat/completions', CHAT, { traceparent: CALLER, tracestate: 'a=b' }),
      200,
    )
    const found = await spans(2)
    const { coordinator, cell } = partsOf(found)
    const same = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'shoal',
      'gen_ai.request.model': 'model-a:7b',
      'gen_ai.response.model': 'model-a:7b',
      'gen_ai.request.max_tokens': 9,
      'gen_ai.request.temperature': 0.5,
      'gen_ai.usage.input_tokens': 7,
      'gen_ai.usage.output_tokens': 2,
      'gen_ai.usage.cache_read.input_tokens': 4,
      'shoal.request.id': 'my-request',
      'shoal.outcome': 'ok',
    }
    t.strictSame(coordinator?.attributes, {
      ...same,
      'server.address': '127.0.0.1',
      'server.port': port,
      'shoal.cell.id': 'cell-a',
    })
    t.match(cell?.attributes, { ...same, 'gen_ai.response.finish_reasons': ['stop'] })
    t.equal(coordinator?.name, 'chat model-a:7b')
    t.equal(coordinator?.spanContext().traceId, TRACE)
    t.equal(coordinator?.parentSpanContext?.spanId, 'b7ad6b7169203331')
    t.equal(cell?.parentSpanContext?.spanId, coordinator?.spanContext().spanId)
    t.strictSame(
      cell?.events.map(event => event.name),
      ['prompt begun', 'first token'],
    )
    t.equal(seen[0]?.tracestate, 'a=b')
    t.notMatch(JSON.stringify(found.map(span => span.attributes)), /secret/)
  })

  t.test('begins a trace for a caller that sends none', async t => {
    const { ask, seen } = await rig(t, answerWell)
    t.equal(await ask('/v1/chat/completions', CHAT), 200)
    const { coordinator } = partsOf(await spans(2))
    const { traceId, spanId } = coordinator?.spanContext() ?? {}
    t.equal(seen[0]?.traceparent, `00-${traceId}-${spanId}-01`)
    t.equal(coordinator?.parentSpanContext, undefined)
  })

  t.test('records a request that the engine refuses as failed', async t => {
    const { ask } = await rig(t, () => {}, {}, new ShoalError('cell_unavailable', 'full'))
    await ask('/v1/chat/completions', CHAT)
    const { cell } = partsOf(await spans(2))
    t.match(cell?.attributes, { 'shoal.outcome': 'failed', 'error.type': 'cell_unavailable' })
  })

  t.test('records no output for embeddings', async t => {
    const { ask } = await rig(t, listener =>
      listener({ type: 'vectors', job: 1, vectors: [new Float32Array(2)], promptTokens: 3 }),
    )
    t.equal(await ask('/v1/embeddings', { model: 'embed-a', input: 'x' }), 200)
    const { coordinator, cell } = partsOf(await spans(2))
    for (const span of [coordinator, cell])
      t.match(span?.attributes, {
        'gen_ai.operation.name': 'embeddings',
        'gen_ai.usage.input_tokens': 3,
        'shoal.outcome': 'ok',
      })
  })

  t.test('records a failure on both spans', async t => {
    const { ask } = await rig(t, listener =>
      listener({ type: 'error', error: new ShoalError('cell_unavailable', 'the engine crashed') }),
    )
    t.equal(await ask('/v1/chat/completions', CHAT), 503)
    const { coordinator, cell } = partsOf(await spans(2))
    t.match(coordinator, { status: { code: 2 }, attributes: { 'error.type': 'cell_unavailable' } })
    t.match(cell, {
      status: { code: 2, message: 'the engine crashed' },
      attributes: { 'error.type': 'cell_unavailable', 'shoal.outcome': 'failed' },
    })
  })

  t.test('records a request over the quota as a failed span without a cell span', async t => {
    const { ask, seen } = await rig(t, answerWell, {
      quota: {
        standing: () => ({ limit: 1, remaining: 0, resetSeconds: 1, burst: 1, minuteLimit: 1 }),
        admit: () => {
          throw new ShoalError('tier_exceeded', 'over')
        },
      },
    })
    t.equal(await ask('/v1/chat/completions', CHAT), 403)
    t.match(await spans(1), [{ attributes: { 'error.type': 'tier_exceeded' } }])
    t.equal(seen.length, 0)
  })

  t.test('does not record a client that leaves as a failure', async t => {
    let markBegun: () => void = () => {}
    const hasBegun = new Promise<void>(resolve => {
      markBegun = resolve
    })
    const { port } = await rig(t, listener => {
      listener({ type: 'start', job: 1, promptTokens: 7, cachedTokens: 0, maxTokens: 9 })
      markBegun()
    })
    const leave = new AbortController()
    const asked = fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: 'Bearer pro-key', 'content-type': 'application/json' },
      body: JSON.stringify(CHAT),
      signal: leave.signal,
    })
    await hasBegun
    leave.abort()
    await t.rejects(asked)
    for (const span of await spans(2))
      t.match(span, { status: { code: 0 }, attributes: { 'shoal.outcome': 'cancelled' } })
  })
})
