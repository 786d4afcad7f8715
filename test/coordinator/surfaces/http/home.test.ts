import t from 'tap'
import { appWith, config } from '../../../support/app.ts'

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
  t.match(page.body, /<title>shoal [^<]+: lab &lt;one&gt;<\/title>/)
  t.match(page.body, /<h1>shoal<\/h1>\n<p>[^<]+<strong>lab &lt;one&gt;<\/strong>/)
  t.match(page.body, /unavailable: no cell serves a model/)
  for (const address of ['/v1', '/docs', '/mcp/', '/v1/openapi.json', '/.well-known/agent.json'])
    t.ok(page.body.includes(`https://shoal.example.org${address}`), address)
  t.match(page.body, /<a href="https:\/\/portal\.example\.org">/)
  t.match(
    page.body,
    /curl &quot;https:[\s\S]+&quot;model&quot;:&quot;model-a:7b&quot;,&quot;temperature&quot;:0/,
  )
  t.notMatch(page.body, /<script|<img|<link|src=|@import/i)
})

t.test('a program learns in one line that shoal runs', async t => {
  const app = await appWith()
  t.teardown(() => app.close())
  for (const accept of ['application/json', '*/*', 'text/html;q=0', undefined]) {
    const headers = accept === undefined ? {} : { accept }
    const answer = await app.inject({ url: '/', headers })
    t.strictSame([answer.statusCode, answer.headers.vary], [200, 'Accept'])
    t.match(answer.headers['content-type'], /^text\/plain/)
    t.match(answer.body, /^shoal is running; the API is under \/v1[^\n]*\n$/)
    const head = await app.inject({ method: 'HEAD', url: '/', headers })
    t.strictSame([head.statusCode, head.body], [200, ''])
  }
  const refused = await app.inject({ method: 'PUT', url: '/' })
  t.strictSame([refused.statusCode, refused.headers.allow], [405, 'GET, HEAD'])
})

t.test('the manual is found with a slash at the end too', async t => {
  const app = await appWith()
  t.teardown(() => app.close())
  const { statusCode, headers } = await app.inject('/docs/')
  t.strictSame([statusCode, headers.location], [308, '../docs'])
  t.equal((await app.inject('/docs')).statusCode, 200)
})
