import t from 'tap'
import type { CtSearch } from '../../../discovery/modules/osint/ct-log-search.ts'
import { runLookup, type UpstreamTestOptions } from '../../support/upstreams.ts'

const search = (t: Parameters<typeof runLookup>[0], options: UpstreamTestOptions) =>
  runLookup<CtSearch>(t, 'ct-log-search', { domain: 'Shoal.Example.' }, options)

t.test('a precertificate and its certificate are one, and only host names count', async t => {
  const { data, sources, warnings } = await search(t, { answers: { crtsh: 'good.json' } })
  t.equal(data.domain, 'shoal.example')
  t.equal(data.total, 3)
  t.strictSame(data.names, ['api.shoal.example', 'shoal.example', 'www.shoal.example'])
  t.strictSame(data.wildcard_names, ['*.lab.shoal.example'])
  t.match(data.certificates[0], {
    expired: false,
    days_left: 3,
    dns_names: [],
    issuer_org: 'Muster CA',
  })
  t.match(data.certificates[1], {
    issuer_org: 'Example Trust, Inc.',
    serial: '04ab01',
    logged_at: '2026-01-11T08:01:22.442Z',
    days_left: 40,
  })
  t.match(data.certificates[2], { expired: true, common_name: 'Shoal Example Company' })
  t.match(warnings, [{ code: 'unparsed_record', source: 'crt.sh' }])
  t.match(sources, [{ name: 'crt.sh', attribution: /crt\.sh/ }])
})

t.test('an overloaded database is asked for the valid certificates alone', async t => {
  const { data, warnings } = await search(t, {
    answers: { crtsh: ({ path }) => (path.includes('exclude=expired') ? 'good.json' : 'html') },
  })
  t.equal(data.total, 3)
  t.ok(warnings.some(({ code }) => code === 'partial_result'))
})

t.test('without the first source the second one is read to its last page', async t => {
  const { data, warnings, server } = await search(t, {
    answers: {
      crtsh: 'down',
      certspotter: ({ path }) =>
        path.includes('after=') ? { body: '[]', headers: JSON_TYPE } : 'good.json',
    },
  })
  t.strictSame(data.names, ['shoal.example'])
  t.strictSame(data.wildcard_names, ['*.edge.shoal.example'])
  t.ok(warnings.some(({ code }) => code === 'fallback_used'))
  t.ok(server.requests.some(({ path }) => path.includes('after=7000000002')))
})

const JSON_TYPE = { 'content-type': 'application/json' }

for (const [title, crtsh] of [
  ['an empty list', { body: '[]', headers: JSON_TYPE }],
  ['a 404', { status: 404, body: '{}', headers: JSON_TYPE }],
] as const)
  t.test(`${title} means that there is no certificate`, async t => {
    const { data } = await search(t, { answers: { crtsh } })
    t.match(data, { total: 0, names: [], certificates: [], truncated: false })
  })

t.test('a search without any source fails as one that may be repeated', async t => {
  const answers = { crtsh: 'limited', certspotter: 'limited' } as const
  const error = await search(t, { answers }).catch(failure => failure)
  t.match(error, { failure: 'rate_limited', retryAfterSeconds: 3600 })
})
