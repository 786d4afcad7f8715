import { once } from 'node:events'
import { request } from 'node:http'
import { constants } from 'node:http2'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import type { QuotaSubject } from '../../../../coordinator/access/quota/quota.ts'
import type { AppParts } from '../../../../coordinator/assembly/app.ts'
import type { Views } from '../../../../coordinator/assembly/coordinator.ts'
import { newCell } from '../../../../coordinator/fleet/cells/cell.ts'
import type { CellEngine } from '../../../../coordinator/fleet/routing/router.ts'
import { createBrokerMetrics } from '../../../../coordinator/surfaces/metrics/broker-metrics.ts'
import { InferenceMetrics } from '../../../../coordinator/surfaces/metrics/inference-metrics.ts'
import {
  metricsServer,
  openMetricsPort,
} from '../../../../coordinator/surfaces/metrics/metrics-port.ts'
import { createPrometheusRegistry } from '../../../../coordinator/surfaces/metrics/prometheus.ts'
import { createQuotaMetrics } from '../../../../coordinator/surfaces/metrics/quota-metrics.ts'
import { createStoreMetrics } from '../../../../coordinator/surfaces/metrics/store-metrics.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { appWith, views } from '../../../support/app.ts'
import { type CellHandler, endWithUsage, linkCell } from '../../../support/cell.ts'
import { temporaryStore } from '../../kernel/store/temporary.ts'

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const json = { 'content-type': 'application/json' }
const chat = { model: 'model-a:7b', messages: [{ role: 'user', content: 'hi' }] }

/** The real front, listening, with one cell on a real link. */
const rig = async (t: Test, handler: CellHandler, parts: Partial<AppParts> = {}) => {
  const linked = await linkCell('a', handler)
  const engine: CellEngine = {
    cellId: 'a',
    link: linked.link,
    slots: 1,
    inFlight: 0,
    others: 0,
    ready: true,
  }
  const cell = { ...newCell('a', 1), presence: 'ready' as const, link: linked.link }
  const away = newCell('b', 1)
  const fleet = {
    pick: (_model: string, tried?: ReadonlySet<string>) => (tried?.has('a') ? undefined : engine),
    cells: () => [cell, away],
    cell: (id: string) => [cell, away].find(each => each.id === id),
    serves: () => true,
    roundTripsMs: () => [],
  }
  const cells = { listNamed: async () => [] } as unknown as Views['cells']
  const app = await appWith({ fleet, views: views({ fleet, cells }), ...parts })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(async () => {
    await app.close()
    await linked.close()
  })
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
  const scrape = async (path = '/metrics', key = 'admin-key') => {
    const response = await fetch(`${url}${path}`, { headers: bearer(key) })
    return {
      status: response.status,
      type: response.headers.get('content-type'),
      text: await response.text(),
    }
  }
  /** Asks until a line is there: figures are kept when the connection is done with the answer. */
  const waitForLine = async (line: string): Promise<void> => {
    for (;;) if ((await scrape()).text.includes(`\n${line}\n`)) return
  }
  return { url, scrape, waitForLine }
}

const answer: CellHandler = (incoming, response) => {
  incoming.resume()
  incoming.once('end', () => {
    response.setHeader('content-type', 'application/json')
    response.write('{}')
    endWithUsage(response)
  })
}

t.test('an error is counted by its code, whichever part answers it', async t => {
  const refuses: CellHandler = (incoming, response) => {
    let text = ''
    incoming.on('data', piece => {
      text += piece
    })
    incoming.once('end', () => {
      const { user, stream } = JSON.parse(text)
      const code = user as string
      response.writeHead(stream ? 200 : 422, { 'content-type': 'application/json' })
      if (stream)
        response.write('data: {}\n\n', () =>
          response.stream.close(constants.NGHTTP2_INTERNAL_ERROR),
        )
      else response.end(JSON.stringify({ error: { message: 'no', code } }))
    })
  }
  const { url, waitForLine, scrape } = await rig(t, refuses)
  const ask = async (body: object) => {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { ...bearer('free-key'), ...json },
      body: JSON.stringify({ ...chat, ...body }),
    })
    return response.text()
  }
  await ask({ user: 'context_length_exceeded' })
  await ask({ user: 'of-its-own-making' })
  t.match(await ask({ stream: true }), /cell_unavailable/)
  await waitForLine('shoal_http_errors_total{code="context_length_exceeded"} 1')
  await waitForLine('shoal_http_errors_total{code="cell_unavailable"} 2')
  t.notMatch((await scrape()).text, /of-its-own-making/)
})

t.test('a request is counted by route, status and outcome', async t => {
  const { url, waitForLine, scrape } = await rig(t, answer)
  const ask = (body: object) =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { ...bearer('free-key'), ...json },
      body: JSON.stringify(body),
    })
  t.equal((await ask(chat)).status, 200)
  t.equal((await ask({ ...chat, model: 'nope' })).status, 404)
  t.equal((await fetch(`${url}/no/such/${Math.random()}`)).status, 404)
  t.equal((await fetch(`${url}/v1/models`)).status, 401)
  for (const line of [
    'shoal_http_requests_total{method="POST",route="/v1/chat/completions",status="200"} 1',
    'shoal_http_requests_total{method="POST",route="/v1/chat/completions",status="404"} 1',
    'shoal_http_requests_total{method="GET",route="none",status="404"} 1',
    'shoal_http_requests_total{method="GET",route="/v1/models",status="401"} 1',
    'shoal_http_request_duration_seconds_count{method="GET",route="/v1/models"} 1',
    'shoal_http_errors_total{code="model_not_found"} 1',
    'shoal_http_errors_total{code="auth_required"} 1',
    'shoal_http_requests_in_flight 1',
    'shoal_inference_requests_total{model="model-a:7b",outcome="ok"} 1',
    'shoal_inference_tokens_total{model="model-a:7b",kind="prompt"} 3',
    'shoal_inference_tokens_total{model="model-a:7b",kind="completion"} 2',
    'shoal_inference_in_flight 0',
    'shoal_routing_decisions_total{result="routed"} 1',
    'shoal_routing_wait_seconds_count 1',
    'shoal_cells{presence="ready"} 1',
    'shoal_cells{presence="unknown"} 1',
    'shoal_cells{presence="dead"} 0',
  ])
    await waitForLine(line)
  t.notMatch((await scrape()).text, /no\/such/, 'a path is no label')
})

t.test('a client that disconnects is counted as 499, whatever it has received', async t => {
  const { url, waitForLine } = await rig(t, (incoming, response) => {
    incoming.resume()
    response.setHeader('content-type', 'text/event-stream')
    response.write('data: {}\n\n')
  })
  const asked = request(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...bearer('free-key'), ...json },
  })
  asked.on('error', () => {})
  asked.end(JSON.stringify({ ...chat, stream: true }))
  const [incoming] = await once(asked, 'response')
  await once(incoming, 'data')
  asked.destroy()
  await waitForLine(
    'shoal_http_requests_total{method="POST",route="/v1/chat/completions",status="499"} 1',
  )
  await waitForLine('shoal_inference_requests_total{model="model-a:7b",outcome="cancelled"} 1')
})

t.test('a request that no cell accepts is counted as refused', async t => {
  const { url, waitForLine } = await rig(t, (incoming, response) => {
    incoming.resume()
    response.statusCode = 503
    response.end('{}')
  })
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...bearer('free-key'), ...json },
    body: JSON.stringify(chat),
  })
  t.equal(response.status, 503)
  await waitForLine('shoal_routing_decisions_total{result="no_cell"} 1')
  await waitForLine('shoal_inference_requests_total{model="model-a:7b",outcome="refused"} 1')
})

t.test('only operators see metrics, and those of a cell arrive over its link', async t => {
  const { url, scrape } = await rig(t, (incoming, response) => {
    incoming.resume()
    if (incoming.url === '/metrics') response.end('shoal_engine_ready 1\n')
    else response.writeHead(404).end()
  })
  t.equal((await fetch(`${url}/metrics`)).status, 401)
  t.equal((await scrape('/metrics', 'free-key')).status, 403)
  t.match(await scrape('/metrics', 'reviewer-key'), { status: 200, type: /^text\/plain/ })
  t.equal((await fetch(`${url}/v1/cells/a/metrics`)).status, 401)
  t.equal((await scrape('/v1/cells/a/metrics', 'pro-key')).status, 403)
  t.match(await scrape('/v1/cells/a/metrics'), {
    status: 200,
    type: 'text/plain; version=0.0.4; charset=utf-8',
    text: 'shoal_engine_ready 1\n',
  })
  t.equal((await scrape('/v1/cells/c/metrics')).status, 404)
  t.match(await scrape('/v1/cells/b/metrics'), { status: 503, text: /no link/ })
})

for (const [title, handler] of [
  ['is too old to have any', (_in, response) => void response.writeHead(404).end()],
  ['resets the stream', (_in, response) => void response.stream.close(2)],
  ['never stops', (_in, response) => void flood(response)],
] as const satisfies [string, CellHandler][])
  t.test(`metrics of a cell that ${title} are 503`, async t => {
    const { scrape } = await rig(t, handler)
    const { status, text } = await scrape('/v1/cells/a/metrics')
    t.equal(status, 503)
    t.equal(JSON.parse(text).error.code, 'cell_unavailable')
  })

const flood = (response: Parameters<CellHandler>[1]): void => {
  const block = Buffer.alloc(256 * 1024)
  const write = (): void => {
    while (!response.destroyed && response.write(block));
  }
  response.on('drain', write)
  response.on('error', () => {})
  write()
}

t.test('the port on loopback needs no key and refuses other addresses', async t => {
  const metrics = createBrokerMetrics()
  const registry = createPrometheusRegistry(metrics.list)
  t.equal(await openMetricsPort(0, registry), undefined)
  const server = metricsServer(registry).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await t.rejects(openMetricsPort(port, registry), {
    code: 'address_in_use',
    message: /metrics\.loopback_port/,
  })
  const status = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    new Promise<number>(resolve => {
      const asked = request({ host: '127.0.0.1', port, path, headers, method }, response => {
        response.resume()
        resolve(response.statusCode ?? 0)
      })
      asked.end()
    })
  t.match(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text(), /shoal_broker_messages/)
  t.equal(await status('/metrics?x=1'), 200)
  t.equal(await status('/metrics', { host: 'evil.example' }), 403)
  t.equal(await status('/metrics', { origin: 'http://evil.example' }), 403)
  t.equal(await status('/v1/models'), 404)
  t.equal(await status('/metrics', {}, 'POST'), 405)
})

t.test('a request to a second cell is a retry, and its wait is that for the first', async t => {
  let ms = 0
  const metrics = new InferenceMetrics(() => ms)
  const watch = metrics.watchRequest('m')
  ms = 20
  t.equal(watch.recordPick(0, 'a'), 'a')
  ms = 500
  watch.recordPick(1, 'b')
  watch.recordEnd({ status: 'ok', usage: undefined })
  watch.recordEnd({ status: 'failed', usage: undefined })
  const valuesOf = (name: string) =>
    metrics.list
      .find(metric => metric.name === name)
      ?.read()
      .map(each => each.value)
  t.strictSame(valuesOf('shoal_routing_decisions_total'), [2, 0])
  t.strictSame(valuesOf('shoal_routing_retries_total'), [1])
  t.strictSame(valuesOf('shoal_inference_requests_total'), [1, 0, 0, 0, 0])
  t.strictSame(valuesOf('shoal_inference_in_flight'), [0])
  t.strictSame(valuesOf('shoal_routing_wait_seconds')?.slice(-2), [0.02, 1])
})

t.test('refusals of the quota are counted by reason and tier', async t => {
  const metrics = createQuotaMetrics()
  let thrown: unknown = new ShoalError('tier_exceeded', 'over')
  const quota = metrics.watch({
    admit: (subject: QuotaSubject, _now: number) => {
      if (subject.id === 'later') return Promise.reject(thrown)
      throw thrown
    },
  })
  const key = { id: 'k', tier: 'free' } as const
  t.throws(() => quota.admit(key, 0), { code: 'tier_exceeded' })
  await t.rejects(async () => quota.admit({ ...key, id: 'later' }, 0), { code: 'tier_exceeded' })
  thrown = new ShoalError('rate_limited', 'wait')
  t.throws(() => quota.admit({ id: 'x', tier: 'anonymous' }, 0), { code: 'rate_limited' })
  t.strictSame(metrics.list[0]?.read(), [
    { labels: { reason: 'month', tier: 'free' }, value: 2 },
    { labels: { reason: 'minute', tier: 'anonymous' }, value: 1 },
  ])
})

t.test('writes of the store are timed, and failed ones counted', async t => {
  let ms = 0
  const metrics = createStoreMetrics(() => ms)
  const store = await temporaryStore(t, undefined, { metrics })
  await store.ledger.sealed.write(async () => {
    ms += 3000
  })
  await t.rejects(
    store.records.free.write(async () => {
      throw new RangeError('no')
    }),
    { message: 'no' },
  )
  const metric = (name: string) => metrics.list.find(metric => metric.name === name)
  const seconds = metric('shoal_store_write_duration_seconds')
  t.match(
    seconds?.read().filter(({ suffix, value }) => suffix === '_sum' && value > 0),
    [{ labels: { database: 'ledger', lane: 'sealed' }, value: 3 }],
  )
  const failures = metric('shoal_store_write_failures_total')
  t.strictSame(failures?.read(), [{ labels: { database: 'records' }, value: 1 }])
})
