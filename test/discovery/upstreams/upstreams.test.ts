import { once } from 'node:events'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import type { UpstreamError, UpstreamRequest } from '../../../discovery/upstreams/client.ts'
import { defineSource, type Source } from '../../../discovery/upstreams/source.ts'
import type { Upstreams } from '../../../discovery/upstreams/upstreams.ts'
import { temporaryFolder } from '../../coordinator/kernel/store/temporary.ts'
import type { SourceAnswer, SourceRequest } from '../../support/upstream-server.ts'
import {
  FIXTURE_NOW,
  openTestUpstreams,
  type UpstreamTestOptions,
} from '../../support/upstreams.ts'

const SECRET = 'sesame-0815'

const createSource = (more: Partial<Source> = {}): Source =>
  defineSource({
    id: 'example',
    name: 'example-service',
    url: 'https://api.shoal.example',
    ttlSeconds: 60,
    maxStaleSeconds: 3600,
    rate: { requests: 100, perSeconds: 1 },
    concurrency: 4,
    licence: 'CC0-1.0',
    attribution: 'Example',
    ...more,
  })

const SOURCE = createSource()
const GOOD = { body: '{"value":1}', headers: { 'content-type': 'application/json', etag: '"a"' } }

const open = (t: Test, answer: SourceAnswer, options: UpstreamTestOptions = {}) =>
  openTestUpstreams(t, { answers: { example: answer }, ...options })

const ask = (upstreams: Upstreams, more: Partial<UpstreamRequest> = {}) =>
  upstreams.ask(
    { source: SOURCE, path: '/things', query: { q: 'a b' }, form: 'json', ...more },
    new AbortController().signal,
  )

const failureOf = (work: Promise<unknown>): Promise<UpstreamError> =>
  work.then(
    () => Promise.reject(new Error('it succeeded')),
    error => error,
  )

/** A clock that a test sets. */
const createClock = () => {
  let at = FIXTURE_NOW
  const pass = (seconds: number): void => {
    at += seconds * 1000
  }
  return { now: () => at, pass }
}

t.test('An answer is fetched once, with the contact of the operator, and then kept', async t => {
  const folder = await temporaryFolder(t)
  const clock = createClock()
  const { upstreams, server } = await open(t, GOOD, { folder, now: clock.now })
  const first = await ask(upstreams)
  t.match(first, { status: 200, body: { value: 1 }, source: { cache: 'miss', age_s: 0 } })
  t.match(server.requests, [{ path: '/things?q=a%20b', method: 'GET' }])
  t.match(
    server.requests[0]?.headers['user-agent'],
    /^shoal\/\S+ \(\+https:\/\/shoal.example\/contact\)$/,
  )

  clock.pass(59)
  t.match(await ask(upstreams), { source: { cache: 'hit', age_s: 59, name: 'example-service' } })
  const url = server.urlOf('example')
  const again = await openTestUpstreams(t, {
    folder,
    now: clock.now,
    sources: { example: { url } },
  })
  t.match(await ask(again.upstreams), { body: { value: 1 }, source: { cache: 'hit' } })
  t.equal(server.requests.length, 1, 'a restart does not ask again')
})

t.test('An answer that has not changed is confirmed and is then as good as new', async t => {
  const clock = createClock()
  const answer = ({ headers }: SourceRequest) =>
    headers['if-none-match'] === '"a"' ? { status: 304 } : GOOD
  const { upstreams, server } = await open(t, answer, clock)
  await ask(upstreams)
  clock.pass(60)
  t.match(await ask(upstreams), { body: { value: 1 }, source: { cache: 'revalidated', age_s: 0 } })
  clock.pass(59)
  t.match(await ask(upstreams), { source: { cache: 'hit' } })
  t.equal(server.requests.length, 2)
})

t.test('Settings that are replaced hold from the next request on', async t => {
  const settings: Record<string, unknown> = {}
  const source = createSource({
    ttlSeconds: 0,
    key: { in: 'header', name: 'x-key', isRequired: true },
  })
  const { upstreams, server } = await open(t, GOOD, { settings })
  t.match(await failureOf(ask(upstreams, { source })), { failure: 'auth_missing' })
  settings.sources = { example: { url: server.urlOf('example'), key: SECRET } }
  t.equal(upstreams.settings.hasKey('example'), true)
  t.match(await ask(upstreams, { source }), { body: { value: 1 } })
  t.equal(server.requests[0]?.headers['x-key'], SECRET)
  settings.egress = 'off'
  t.match(await ask(upstreams, { source }), { source: { cache: 'stale' } })
})

t.test('A lifetime of HTTP counts where it is longer than that of the source', async t => {
  const clock = createClock()
  const headers = { ...GOOD.headers, 'cache-control': 'public, max-age=600' }
  const { upstreams } = await open(t, { ...GOOD, headers }, clock)
  await ask(upstreams)
  clock.pass(599)
  t.match(await ask(upstreams), { source: { cache: 'hit' } })
})

const TROUBLES = [
  ['html', 'malformed'],
  ['truncated', 'not_reached'],
  ['limited', 'rate_limited'],
  ['down', 'failed'],
  [{ status: 404, body: '{}' }, 'not_found'],
  [{ status: 403, body: 'blocked' }, 'refused'],
  [{ status: 200, body: 'No data found' }, 'malformed'],
  [{ status: 200, body: '{"cut":' }, 'malformed'],
] as const

t.test('An older answer stands in for a failure, up to its limit', async t => {
  for (const [trouble, failure] of TROUBLES)
    await t.test(`${JSON.stringify(trouble)} is ${failure}`, async t => {
      const clock = createClock()
      let answer: Exclude<SourceAnswer, (request: SourceRequest) => unknown> = GOOD
      const { upstreams } = await open(t, () => answer, clock)
      await ask(upstreams)
      answer = trouble
      clock.pass(61)
      const { context, sources, warnings } = upstreams.openLookup(
        new AbortController().signal,
        async () => [],
      )
      await context.ask({ source: SOURCE, path: '/things', query: { q: 'a b' }, form: 'json' })
      t.match(sources, [{ cache: 'stale', age_s: 61 }])
      t.match(warnings, [{ code: 'stale_data', source: 'example-service' }])
      clock.pass(3600)
      t.match(await failureOf(ask(upstreams)), { failure, source: 'example' })
    })
})

t.test('A failure without an older answer has its kind', async t => {
  for (const [trouble, failure] of TROUBLES)
    await t.test(`${JSON.stringify(trouble)} is ${failure}`, async t => {
      const { upstreams } = await open(t, trouble)
      t.match(await failureOf(ask(upstreams)), { failure, source: 'example' })
    })
  await t.test('a source that does not answer in its time is timed_out', async t => {
    const { upstreams } = await open(t, 'slow')
    const source = createSource({ timeoutSeconds: 0.2 })
    t.match(await failureOf(ask(upstreams, { source })), { failure: 'timed_out' })
  })
  await t.test('a first answer that says unchanged is malformed', async t => {
    const { upstreams } = await open(t, { status: 304 })
    t.match(await failureOf(ask(upstreams)), { failure: 'malformed' })
  })
  await t.test('a request may accept a status as an answer', async t => {
    const { upstreams } = await open(t, { status: 404, body: 'unknown' })
    t.match(await ask(upstreams, { accepts: [404] }), { status: 404, body: null })
  })
})

t.test('Only what may pass is tried again, and at most twice', async t => {
  for (const [status, requests] of [
    [503, 3],
    [500, 3],
    [400, 1],
    [401, 1],
    [403, 1],
    [404, 1],
    [422, 1],
  ] as const) {
    const { upstreams, server } = await open(t, { status })
    await failureOf(ask(upstreams))
    t.equal(server.requests.length, requests, `HTTP ${status}`)
  }
  const { upstreams, server } = await open(t, 'down')
  await failureOf(ask(upstreams, { body: { q: 1 } }))
  t.match(server.requests, [{ method: 'POST', body: '{"q":1}' }], 'a POST is sent once')
})

t.test('Callers with the same question share one request', async t => {
  const { upstreams, server } = await open(t, GOOD)
  const impatient = new AbortController()
  const request: UpstreamRequest = { source: SOURCE, path: '/things', form: 'json' }
  const left = failureOf(upstreams.ask(request, impatient.signal))
  const others = [1, 2, 3].map(() => upstreams.ask(request, new AbortController().signal))
  impatient.abort()
  t.equal((await left).name, 'AbortError')
  for (const answer of await Promise.all(others)) t.match(answer, { body: { value: 1 } })
  t.equal(server.requests.length, 1)
})

t.test('A source gets no more requests than its rate allows, also after a restart', async t => {
  const folder = await temporaryFolder(t)
  const clock = createClock()
  const source = createSource({ rate: { requests: 2, perSeconds: 3600 }, isPersisted: true })
  const { upstreams, server } = await open(t, GOOD, { folder, now: clock.now })
  for (const path of ['/1', '/2']) await ask(upstreams, { source, path })
  const refused = await failureOf(ask(upstreams, { source, path: '/3' }))
  t.match(refused, { failure: 'rate_limited', retryAfterSeconds: 1800 })

  const sources = { example: { url: server.urlOf('example') } }
  const again = await openTestUpstreams(t, { folder, now: clock.now, sources })
  t.match(await failureOf(ask(again.upstreams, { source, path: '/4' })), {
    failure: 'rate_limited',
  })
  clock.pass(1800)
  t.match(await ask(again.upstreams, { source, path: '/5' }), { source: { cache: 'miss' } })
})

t.test('Two coordinators share the rate of a source', async t => {
  const source = createSource({ rate: { requests: 1, perSeconds: 60 } })
  const { upstreams } = await open(t, GOOD, { countCoordinators: () => 2 })
  await ask(upstreams, { source, path: '/1' })
  t.match(await failureOf(ask(upstreams, { source, path: '/2' })), { retryAfterSeconds: 120 })
})

t.test('A host that asks for a pause gets it', async t => {
  const clock = createClock()
  const { upstreams, server } = await open(t, 'limited', clock)
  await failureOf(ask(upstreams))
  t.match(await failureOf(ask(upstreams, { path: '/other' })), {
    failure: 'rate_limited',
    retryAfterSeconds: 3600,
  })
  t.equal(server.requests.length, 1)
})

t.test('A source with a floor is not asked twice for a thing, whatever it answered', async t => {
  const folder = await temporaryFolder(t)
  const clock = createClock()
  const source = createSource({ floorSeconds: 7200, isPersisted: true })
  const { upstreams, server } = await open(t, { status: 403 }, { folder, now: clock.now })
  t.match(await failureOf(ask(upstreams, { source })), { failure: 'refused' })
  const sources = { example: { url: server.urlOf('example') } }
  const again = await openTestUpstreams(t, { folder, now: clock.now, sources })
  clock.pass(7199)
  t.match(await failureOf(ask(again.upstreams, { source })), { failure: 'rate_limited' })
  t.equal(server.requests.length, 1)
  clock.pass(1)
  await failureOf(ask(again.upstreams, { source }))
  t.equal(server.requests.length, 2)
})

t.test('Without egress only the cache answers', async t => {
  const folder = await temporaryFolder(t)
  const clock = createClock()
  const { upstreams, server } = await open(t, GOOD, { folder, now: clock.now })
  await ask(upstreams)
  const sources = { example: { url: server.urlOf('example') } }
  const settings = { egress: 'off', sources } as const
  const offline = await openTestUpstreams(t, { folder, now: clock.now, settings })
  t.match(await ask(offline.upstreams), { source: { cache: 'hit' } })
  clock.pass(61)
  t.match(await ask(offline.upstreams), { source: { cache: 'stale' } })
  t.match(await failureOf(ask(offline.upstreams, { path: '/new' })), { failure: 'offline' })
  t.equal(server.requests.length, 1)
})

t.test('A key goes to its source and nowhere else', async t => {
  for (const [key, sent] of [
    [
      { in: 'header', name: 'X-Key', prefix: 'Bearer ' },
      { headers: { 'x-key': `Bearer ${SECRET}` } },
    ],
    [{ in: 'query', name: 'token' }, { path: `/things?q=a%20b&token=${SECRET}` }],
    [{ in: 'path', name: '' }, { path: `/${SECRET}/things?q=a%20b` }],
  ] as const)
    await t.test(`as ${key.in}`, async t => {
      const folder = await temporaryFolder(t)
      const file = join(await temporaryFolder(t), 'key')
      await writeFile(file, `${SECRET}\n`)
      const source = createSource({ key: { ...key, isRequired: true } })
      let answer: Exclude<SourceAnswer, (request: SourceRequest) => unknown> = GOOD
      const sources = { example: { key_file: file } }
      const { upstreams, server } = await open(t, () => answer, { folder, sources })
      const { source: shown } = await ask(upstreams, { source })
      t.match(server.requests[0], sent)
      t.notMatch(JSON.stringify(shown), SECRET)
      for (const name of await readdir(join(folder, 'answers')))
        t.notMatch(await readFile(join(folder, 'answers', name), 'utf8'), SECRET)

      answer = { status: 302, headers: { location: 'https://elsewhere.shoal.example/' } }
      const refused = await failureOf(ask(upstreams, { source, path: '/moved' }))
      t.match(refused, { failure: 'refused' })
      t.notMatch(String(refused.stack), SECRET)
    })
  await t.test('two keys of a source never share an answer', async t => {
    const folder = await temporaryFolder(t)
    const file = join(await temporaryFolder(t), 'key')
    const source = createSource({ key: { in: 'header', name: 'x-key', isRequired: false } })
    const answer = ({ headers }: SourceRequest) => ({
      ...GOOD,
      body: JSON.stringify({ of: headers['x-key'] ?? null }),
    })
    const sources = { example: { key_file: file } }
    const { upstreams } = await open(t, answer, { folder, sources })
    const askWith = async (key: string) => {
      await writeFile(file, key)
      const { body, source: shown } = await ask(upstreams, { source })
      return { body, cache: shown.cache }
    }
    t.match(await askWith('first-key'), { body: { of: 'first-key' }, cache: 'miss' })
    t.match(await askWith('second-key'), { body: { of: 'second-key' }, cache: 'miss' })
    t.match(await askWith('first-key'), { body: { of: 'first-key' }, cache: 'hit' })
  })
  await t.test('a source that needs one is not asked without', async t => {
    const { upstreams, server } = await open(t, GOOD)
    const source = createSource({ key: { in: 'header', name: 'x-key', isRequired: true } })
    t.match(await failureOf(ask(upstreams, { source })), { failure: 'auth_missing' })
    t.equal(server.requests.length, 0)
  })
})

t.test('A redirect is followed on the host of the source, and judged elsewhere', async t => {
  const { upstreams, server } = await open(t, ({ path }) => {
    const [, count = ''] = /^\/r(\d)/.exec(path) ?? []
    if (path === '/private') return { status: 302, headers: { location: 'http://127.0.0.2:1/' } }
    if (path === '/secure') return { status: 302, headers: { location: 'https://127.0.0.2/' } }
    if (count === '' || count === '0') return GOOD
    return { status: 302, headers: { location: `/example/r${Number(count) - 1}` } }
  })
  t.match(await ask(upstreams, { path: '/r3', query: {} }), { body: { value: 1 } })
  t.match(await failureOf(ask(upstreams, { path: '/r4', query: {} })), { failure: 'refused' })
  for (const path of ['/private', '/secure'])
    t.match(await failureOf(ask(upstreams, { path, query: {} })), { failure: 'refused' }, path)
  const named = { baseUrl: server.urlOf('example') }
  t.match(await failureOf(ask(upstreams, named)), { failure: 'refused' }, 'named by an answer')
})

t.test('A path of a caller does not leave the address of its source', async t => {
  const { upstreams, server } = await open(t, GOOD)
  for (const path of ['/../admin', '/a/%2E%2e/b', '/a?b', '/a#b', 'a', '/a\\b'])
    t.match(await failureOf(ask(upstreams, { path })), { failure: 'refused' }, path)
  t.equal(server.requests.length, 0)
})

t.test('A compressed answer is decoded, and bounded by what it becomes', async t => {
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
  const body = (text: string) => ({ body: gzipSync(text), headers })
  const { upstreams } = await open(t, ({ path }) =>
    body(path === '/large' ? `"${' '.repeat(100_000)}"` : '{"value":2}'),
  )
  t.match(await ask(upstreams), { body: { value: 2 } })
  const source = createSource({ maxBytes: 10_000 })
  const large = ask(upstreams, { source, path: '/large', query: {} })
  t.match(await failureOf(large), { failure: 'too_large' })
})

t.test('A source may listen on a Unix socket', async t => {
  const path = join(await temporaryFolder(t), 'source.sock')
  const server = createServer(({ url }, response) =>
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ url })),
  ).listen(path)
  await once(server, 'listening')
  t.teardown(() => server.close())
  const sources = { example: { url: `unix://${path}:` } }
  const { upstreams } = await openTestUpstreams(t, { sources })
  t.match(await ask(upstreams), { body: { url: '/things?q=a%20b' } })
})

t.test('A disk that fails costs the cache and no answer', async t => {
  const file = join(await temporaryFolder(t), 'file')
  await writeFile(file, '')
  const { upstreams, server, faults } = await open(t, GOOD, { folder: join(file, 'below') })
  t.match(await ask(upstreams), { source: { cache: 'miss' } })
  t.match(await ask(upstreams), { source: { cache: 'hit' } })
  t.equal(server.requests.length, 1)
  t.ok(faults.length > 0)
})

t.test('A file that was damaged is fetched again', async t => {
  const folder = await temporaryFolder(t)
  const { upstreams, server } = await open(t, GOOD, { folder })
  await ask(upstreams)
  const [name = ''] = await readdir(join(folder, 'answers'))
  const path = join(folder, 'answers', name)
  await writeFile(path, (await readFile(path, 'utf8')).replace('"value":1', '"value":9'))
  await writeFile(`${path}.half.new`, '{')
  const sources = { example: { url: server.urlOf('example') } }
  const again = await openTestUpstreams(t, { folder, sources })
  t.match(await ask(again.upstreams), { body: { value: 1 }, source: { cache: 'miss' } })
  t.same(await readdir(join(folder, 'answers')), [name])
})

t.test('The files stay below their bound, and the newest remain', async t => {
  const folder = await temporaryFolder(t)
  const { upstreams } = await open(t, GOOD, { folder, cacheBytes: 3 * 4096 })
  for (const path of ['/1', '/2', '/3', '/4', '/5']) await ask(upstreams, { path })
  t.equal((await readdir(join(folder, 'answers'))).length, 3)
})
