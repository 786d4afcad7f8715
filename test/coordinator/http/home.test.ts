import t from 'tap'
import { appWith, config } from '../../support/app.ts'

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

t.test('a browser gets a page with status, addresses and a first request', async t => {
  const app = await appWith({
    config: config({
      name: 'lab <one>',
      public: { base_url: 'https://shoal.example.org/', portal_url: 'https://portal.example.org' },
    }),
  })
  t.teardown(() => app.close())
  const page = await app.inject({ url: '/', headers: { accept: BROWSER } })
  t.equal(page.statusCode, 200)
  t.match(page.headers, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': /default-src 'none'.*form-action 'none'/,
    'cache-control': 'no-cache',
    vary: 'Accept',
  })
  t.match(page.body, /<h1>lab &lt;one&gt;<\/h1>/)
  t.match(page.body, /unavailable: no cell serves a model/)
  for (const address of ['/v1', '/docs', '/mcp/', '/v1/openapi.json', '/.well-known/agent.json'])
    t.ok(page.body.includes(`https://shoal.example.org${address}`), address)
  t.match(page.body, /<a href="https:\/\/portal\.example\.org">/)
  t.match(page.body, /curl &quot;https:[\s\S]+&quot;model&quot;:&quot;model-a:7b&quot;/)
  t.notMatch(page.body, /<script|<img|<link|src=|@import/i)
})

t.test('a program is told where the API is, as before', async t => {
  const app = await appWith()
  t.teardown(() => app.close())
  for (const accept of ['application/json', '*/*', 'text/html;q=0', undefined]) {
    const answer = await app.inject({ url: '/', headers: accept === undefined ? {} : { accept } })
    t.match(answer.json(), { error: { code: 'not_found', message: /the API is under \/v1/ } })
    t.equal(answer.statusCode, 404)
  }
})

t.test('the manual is found with a slash at the end too', async t => {
  const app = await appWith()
  t.teardown(() => app.close())
  const { statusCode, headers } = await app.inject('/docs/')
  t.strictSame([statusCode, headers.location], [308, '../docs'])
  t.equal((await app.inject('/docs')).statusCode, 200)
})
