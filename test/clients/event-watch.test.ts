import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { createApi } from '../../clients/cli/api.ts'
import { watchEvents } from '../../clients/cli/event-watch.ts'
import { appWith, keyOfTier } from '../support/app.ts'
import { silent } from '../support/cell.ts'
import { createEvents } from '../support/memory-events.ts'

const KEY = { ...keyOfTier('free'), roles: ['reviewer' as const] }

const scene = async (format: 'text' | 'json') => {
  const events = createEvents({ source: '/shoal/test', logger: silent })
  const app = await appWith({
    events,
    keys: { authenticate: key => (key === 'k' ? KEY : undefined) },
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const { port } = app.server.address() as AddressInfo
  const session = (key: string) => {
    const written: string[] = []
    const api = createApi({ url: `http://127.0.0.1:${port}`, key })
    const write = (text: string) => void written.push(text)
    return { written, session: { api, format, write, print: () => {} } }
  }
  return { app, events, session }
}

const never = new AbortController().signal

t.test('events are printed as they arrive, with control characters escaped', async t => {
  const { events, session } = await scene('text')
  const { written, session: own } = session('k')
  const before = events.publish('shoal.cell.before', null)
  events.publish('shoal.alert.raised', null)
  events.publish('shoal.cell.ready', { a: '\u202e' }, 'cell_1')
  await watchEvents(own, { types: 'shoal.cell.*', after: before.id, once: true }, never)
  t.equal(written.length, 1)
  t.match(written[0], /^\S+Z {2}shoal\.cell\.ready {2}cell_1 {2}\{"a":"\\u\{202e\}"\}\n$/)
})

t.test('a stream that ends is resumed', async t => {
  const { app, events, session } = await scene('json')
  const { written, session: own } = session('k')
  const first = events.publish('shoal.cell.first', null)
  const stopping = new AbortController()
  const asked: (string | undefined)[] = []
  const api = {
    ...own.api,
    events: (call: never, lastId: string | undefined) => {
      asked.push(lastId)
      return own.api.events(call, lastId)
    },
  }
  const write = (text: string) => {
    written.push(text)
    if (written.length === 1) void app.close()
    else stopping.abort()
  }
  const second = events.publish('shoal.cell.second', null)
  const wait = async () => stopping.abort()
  await watchEvents({ ...own, api, write }, { after: first.id }, stopping.signal, wait)
  t.match(JSON.parse(written[0] ?? ''), { type: 'shoal.cell.second', id: second.id })
  t.strictSame(asked, [first.id])
})

t.test('a wrong key ends the watch', async t => {
  const { session } = await scene('text')
  await t.rejects(watchEvents(session('x').session, {}, never), { code: 'auth_required' })
})

t.test('a cut stream and a requested pause are followed by a retry', async t => {
  const server = createServer((_request, response) => {
    asked += 1
    if (asked === 1) return void response.writeHead(200).write('id: 1\n', () => response.destroy())
    const body = { error: { message: 'slower', type: 'x', param: null, code: 'rate_limited' } }
    response.writeHead(429, { 'retry-after': '7' }).end(JSON.stringify(body))
  }).listen(0, '127.0.0.1')
  let asked = 0
  await once(server, 'listening')
  t.teardown(() => server.close())
  const api = createApi({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    key: 'k',
  })
  const stopping = new AbortController()
  const pauses: number[] = []
  const wait = async (ms: number) => {
    pauses.push(ms)
    if (pauses.length === 2) stopping.abort()
  }
  const session = { api, format: 'text' as const, write: () => {}, print: () => {} }
  await watchEvents(session, {}, stopping.signal, wait)
  t.strictSame(pauses, [2000, 7000])
})
