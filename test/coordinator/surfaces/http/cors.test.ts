import t, { type Test } from 'tap'
import { appWith, config } from '../../../support/app.ts'

const PAGE = 'https://chat.example.org'
const OTHER = 'https://evil.example.org'

const appFor = async (t: Test, cors_origins: readonly string[]) => {
  const app = await appWith({ config: config({ http: { cors_origins } }) })
  t.teardown(() => app.close())
  return app
}

const chat = (origin: string) => ({
  method: 'POST' as const,
  url: '/v1/chat/completions',
  headers: { origin, authorization: 'Bearer free-key', 'content-type': 'application/json' },
  payload: { model: 'model-a:7b', messages: [{ role: 'user', content: 'x' }] },
})
const preflight = (origin: string, url = '/v1/chat/completions') => ({
  method: 'OPTIONS' as const,
  url,
  headers: {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization,content-type,x-stainless-os',
  },
})
const ALLOW = 'access-control-allow-origin'

t.test('no page of another origin may call the API by default', async t => {
  const app = await appFor(t, [])
  t.equal((await app.inject(preflight(PAGE))).statusCode, 405)
  for (const url of ['/v1/health', '/v1/openapi.json', '/']) {
    const { headers } = await app.inject({ url, headers: { origin: PAGE } })
    t.strictSame([headers[ALLOW], /Origin/.test(String(headers.vary))], [undefined, false], url)
  }
})

t.test('a configured origin may call every route, and read the limits', async t => {
  const app = await appFor(t, [PAGE, 'app://obsidian.md'])
  for (const origin of [PAGE, 'app://obsidian.md'])
    for (const url of ['/v1/chat/completions', '/api/chat', '/mcp/', '/v1/models', '/v1/none']) {
      const { statusCode, headers, body } = await app.inject(preflight(origin, url))
      t.strictSame([statusCode, body], [204, ''], url)
      t.match(headers, {
        [ALLOW]: origin,
        'access-control-allow-methods': /POST.*DELETE/,
        'access-control-allow-headers': 'authorization,content-type,x-stainless-os',
        'access-control-max-age': '7200',
        vary: 'Origin',
      })
      t.equal(headers['access-control-allow-credentials'], undefined, 'never with credentials')
    }
  const refusal = await app.inject(chat(PAGE))
  t.equal(refusal.statusCode, 503, 'an error of the straight routes')
  for (const { headers } of [
    refusal,
    await app.inject({ url: '/v1/models', headers: { origin: PAGE } }),
    await app.inject({ url: '/v1/openapi.json', headers: { origin: PAGE } }),
  ])
    t.match(headers, {
      [ALLOW]: PAGE,
      'access-control-expose-headers': /x-request-id.*x-ratelimit-remaining.*retry-after/,
      vary: /Origin$/,
    })
  const { headers } = await app.inject({ url: '/docs', headers: { origin: PAGE } })
  t.match(headers.vary, /^Accept-Encoding, Authorization, Origin$/, 'what varies is kept')
})

t.test('another origin gets nothing, but caches know that answers differ', async t => {
  const app = await appFor(t, [PAGE])
  t.equal((await app.inject(preflight(OTHER))).statusCode, 405)
  const { headers } = await app.inject(chat(OTHER))
  t.strictSame([headers[ALLOW], headers.vary], [undefined, 'Origin'])
  const mcp = await app.inject({ ...chat(OTHER), url: '/mcp/' })
  t.match(mcp.json(), { error: { code: 'origin_not_allowed' } })
  const allowed = await app.inject({ ...chat(PAGE), url: '/mcp/' })
  t.not(allowed.json().error?.code, 'origin_not_allowed')
})

t.test('a preflight request with odd header names gets none of them back', async t => {
  const app = await appFor(t, [PAGE])
  const asked = preflight(PAGE)
  const headers = { ...asked.headers, 'access-control-request-headers': 'a b;c' }
  const answer = await app.inject({ ...asked, headers })
  t.equal(answer.statusCode, 204)
  t.equal(answer.headers['access-control-allow-headers'], undefined)
})

t.test('every origin may be allowed', async t => {
  const app = await appFor(t, ['*'])
  t.match((await app.inject(preflight(OTHER))).headers, { [ALLOW]: '*' })
  const { headers } = await app.inject(chat(OTHER))
  t.equal(headers[ALLOW], '*')
  t.equal(headers['access-control-allow-credentials'], undefined)
})

t.test('a setting that is no origin is refused', async t => {
  for (const wrong of ['chat.example.org', `${PAGE}/`, 'https://a b', 'HTTPS://x', 'null', ''])
    t.throws(() => config({ http: { cors_origins: [wrong] } }), /must be an origin/, wrong)
})
