import { once } from 'node:events'
import http from 'node:http'
import { constants } from 'node:http2'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { KnownCoordinators } from '../../../daemon/coordinators/known-coordinators.ts'
import type { HttpRequest, HttpResponse } from '../../../daemon/inference/openai/http.ts'
import { type Handle, linkService } from '../../../daemon/services/link.ts'
import { localService } from '../../../daemon/services/local.ts'
import { Nudge } from '../../../daemon/uplink/nudge.ts'
import {
  newHealth,
  newIdentity,
  noWait,
  type StandIn,
  standIn,
  waitUntilTrue,
} from '../stand-in.ts'

const link = async (
  t: { teardown: (done: () => void | Promise<void>) => unknown },
  coordinator: StandIn,
  handle: Handle,
  wait = noWait(),
  nudge = new Nudge(),
) => {
  const health = newHealth()
  const stop = new AbortController()
  const state = () => health.view()['link connection']?.state
  const service = linkService({
    identity: newIdentity(coordinator.url),
    coordinators: new KnownCoordinators({ url: coordinator.url, hasPinnedAuthority: false }),
    connectTimeoutSeconds: 10,
    handle,
    health,
    nudge,
    wait,
    random: () => 0,
  })
  await service.start({
    signal: stop.signal,
    fail: error => t.teardown(() => Promise.reject(error)),
  })
  t.teardown(async () => {
    stop.abort()
    await waitUntilTrue(() => state() === 'stopped')
    await coordinator.close()
  })
  return { stop, state }
}

/** A pause that ends with the signal only. */
const forever = (_milliseconds: number, signal: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve())
  })

const ask = async (coordinator: StandIn, path: string, body: string) => {
  const stream = coordinator.links.at(-1)?.request({ ':method': 'POST', ':path': path })
  if (stream === undefined) throw new Error('there is no link')
  stream.end(body)
  let text = ''
  let trailers: Record<string, unknown> = {}
  stream.on('trailers', headers => {
    trailers = headers
  })
  for await (const chunk of stream) text += chunk
  return { text, trailers }
}

const echo = async (request: HttpRequest, response: HttpResponse) => {
  let body = ''
  for await (const chunk of request) body += chunk
  response.setHeader('content-type', 'text/plain')
  response.addTrailers({ 'x-shoal-usage': '{}' })
  response.end(`${request.url} ${body}`)
}

t.test('link', async t => {
  t.test('the coordinator sends many requests at a time and the cell answers them', async t => {
    const coordinator = await standIn()
    await link(t, coordinator, echo, forever)
    await waitUntilTrue(() => coordinator.links.length === 1)
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, i) => ask(coordinator, '/v1/x', `${i}`)),
    )
    t.strictSame(
      answers.map(({ text }) => text),
      Array.from({ length: 200 }, (_, i) => `/v1/x ${i}`),
    )
    t.match(answers[0]?.trailers, { 'x-shoal-usage': '{}' })
  })

  t.test('an unread request body does not block other requests', async t => {
    const coordinator = await standIn()
    const handle = (request: HttpRequest, response: HttpResponse) => {
      if (request.url !== '/stuck') echo(request, response)
    }
    await link(t, coordinator, handle, forever)
    await waitUntilTrue(() => coordinator.links.length === 1)
    for (let i = 0; i < 20; i++)
      coordinator.links[0]
        ?.request({ ':method': 'POST', ':path': '/stuck' })
        .on('error', () => {})
        .end(Buffer.alloc(128 * 1024))
    const { text } = await ask(coordinator, '/free', 'x'.repeat(100_000))
    t.equal(text.length, 100_006)
  })

  t.test('a thousand clients that disconnect do not end the link', async t => {
    const coordinator = await standIn()
    const cancelled = new Set<HttpRequest>()
    const handle = (request: HttpRequest, response: HttpResponse) => {
      if (request.url === '/again') return void echo(request, response)
      response.write('begin')
      response.on('close', () => cancelled.add(request))
    }
    await link(t, coordinator, handle, forever)
    await waitUntilTrue(() => coordinator.links.length === 1)
    const session = coordinator.links[0]
    for (let i = 0; i < 3000; i++) {
      const stream = session?.request({ ':path': '/long' }).on('error', () => {})
      stream?.on('response', () => stream.close(constants.NGHTTP2_CANCEL))
    }
    await waitUntilTrue(() => cancelled.size === 3000)
    t.equal((await ask(coordinator, '/again', '')).text, '/again ')
    t.equal(coordinator.links.length, 1)
  })

  t.test('a cut cancels the requests on the link, and the cell reconnects', async t => {
    const coordinator = await standIn()
    let cancelled = false
    const wait = noWait()
    const handle = (request: HttpRequest, response: HttpResponse) => {
      if (request.url !== '/long') return void echo(request, response)
      response.statusCode = 200
      response.write('begin')
      response.on('close', () => {
        cancelled = true
      })
    }
    const slow = (ms: number, signal: AbortSignal) =>
      ms === 5000 ? forever(ms, signal) : wait(ms, signal)
    await link(t, coordinator, handle, slow)
    await waitUntilTrue(() => coordinator.links.length === 1)
    const stream = coordinator.links[0]?.request({ ':path': '/long' }).on('error', () => {})
    if (stream) await once(stream, 'data')
    coordinator.cut()
    await waitUntilTrue(() => cancelled && coordinator.links.length === 2)
    t.equal((await ask(coordinator, '/again', '')).text, '/again ')
  })

  t.test('the link to a coordinator that answers no ping is closed', async t => {
    const coordinator = await standIn()
    coordinator.server.removeAllListeners('upgrade')
    let dialled = 0
    coordinator.server.on('upgrade', (_request, socket) => {
      dialled++
      socket.on('error', () => {}).resume()
      socket.write('HTTP/1.1 101 X\r\nUpgrade: shoal-link/1\r\nConnection: Upgrade\r\n\r\n')
      t.teardown(() => socket.destroy())
    })
    const { state } = await link(t, coordinator, echo)
    await waitUntilTrue(() => dialled > 1)
    t.not(state(), 'stopped')
  })

  t.test('a protocol other than the requested one is refused', async t => {
    const coordinator = await standIn()
    coordinator.server.removeAllListeners('upgrade')
    coordinator.server.on('upgrade', (_request, socket) => {
      socket.on('error', () => {})
      socket.write('HTTP/1.1 101 X\r\nUpgrade: shoal-link/9\r\nConnection: Upgrade\r\n\r\n')
      t.teardown(() => socket.destroy())
    })
    const { state } = await link(t, coordinator, echo, forever)
    await waitUntilTrue(() => state() === 'waiting')
    t.equal(coordinator.links.length, 0)
  })

  t.test('the link retries at once when another connection is up', async t => {
    const coordinator = await standIn()
    const body = JSON.stringify({ error: { message: 'no', code: 'auth_required' } })
    coordinator.state.refuse = { status: 401, body }
    const nudge = new Nudge()
    const { state } = await link(t, coordinator, echo, forever, nudge)
    await waitUntilTrue(() => state() === 'waiting')
    coordinator.state.refuse = undefined
    nudge.ring()
    await waitUntilTrue(() => state() === 'running')
    t.equal(coordinator.links.length, 1)
  })

  t.test('the signal ends the connection', async t => {
    const coordinator = await standIn()
    const { stop, state } = await link(t, coordinator, echo, forever)
    await waitUntilTrue(() => coordinator.links.length === 1)
    const session = coordinator.links[0]
    stop.abort()
    await waitUntilTrue(() => session?.destroyed === true && state() === 'stopped')
  })
})

t.test('the local server answers on its port', async t => {
  const probe = http.createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  const seen: http.IncomingHttpHeaders[] = []
  const service = localService(port, (request, response) => {
    seen.push(request.headers)
    echo(request, response)
  })
  const context = { signal: stop.signal, fail: () => {} }

  await t.rejects(service.start(context), { code: 'address_in_use' }, 'a taken port is an error')
  await new Promise(resolve => probe.close(resolve))
  await service.start(context)

  const get = (headers: http.OutgoingHttpHeaders): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      http
        .get({ port, host: '127.0.0.1', path: '/', headers, agent: false }, response => {
          response.resume()
          resolve(response.statusCode)
        })
        .on('error', reject)
    })
  for (const [headers, status] of [
    [{}, 200],
    [{ host: 'localhost' }, 200],
    [{ host: `[::1]:${port}` }, 200],
    [{ host: 'evil.example' }, 421],
    [{ host: '127.0.0.1.evil.example' }, 421],
    [{ origin: 'http://localhost:3000' }, 200],
    [{ origin: 'https://evil.example' }, 403],
    [{ origin: 'null' }, 403],
  ] as const)
    t.equal(await get(headers), status, `${JSON.stringify(headers)} is answered ${status}`)
  await get({ 'x-shoal-judge': '1', 'x-other': '1' })
  t.match(seen.at(-1), { 'x-other': '1' })
  t.notOk('x-shoal-judge' in (seen.at(-1) ?? {}), 'what only the coordinator may ask is dropped')
})
