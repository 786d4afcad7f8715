import t from 'tap'
import type { CveCheck } from '../../../discovery/modules/osint/cve-check.ts'
import type { CveSearch } from '../../../discovery/modules/osint/cve-search.ts'
import { compareVersions } from '../../../discovery/runs/osint/cve/compare-versions.ts'
import type { SourceAnswer, SourceRequest } from '../../support/upstream-server.ts'
import { runLookup, type UpstreamTestOptions } from '../../support/upstreams.ts'

/** Answers of the NVD: its dictionary of products, and the records. */
const nvdWith =
  (records: SourceReplyName, products: SourceReplyName = 'products.json') =>
  ({ path }: SourceRequest): SourceReplyName =>
    path.startsWith('/cpes') ? products : records

type SourceReplyName = `${string}.json`

const ALL: Record<string, SourceAnswer> = {
  nvd: nvdWith('good.json'),
  kev: 'good.json',
  epss: 'good.json',
}

type Harness = Parameters<typeof runLookup>[0]
const search = (t: Harness, input: object, options: UpstreamTestOptions) =>
  runLookup<CveSearch>(t, 'cve-search', input, options)
const check = (t: Harness, input: object, options: UpstreamTestOptions) =>
  runLookup<CveCheck>(t, 'cve-check', { device_type: 'mqtt_broker', ...input }, options)

t.test('exploited vulnerabilities come first, and one without a rating is unknown', async t => {
  const { data, sources } = await search(t, { keyword: 'broker' }, { answers: ALL })
  t.strictSame(
    data.items.map(({ id, severity }) => [id, severity]),
    [
      ['CVE-2019-10003', 'medium'],
      ['CVE-2020-10009', 'unknown'],
      ['CVE-2026-10001', 'critical'],
      ['CVE-2026-10002', 'unknown'],
    ],
  )
  t.match(data.items[0], { kev: { ransomware: true }, cvss: { version: '2.0', score: 5 } })
  t.match(data.items[2], {
    cvss: { score: 9.8, source: 'nvd@nist.gov' },
    epss: { probability: 0.031, percentile: 0.914 },
    cwes: ['CWE-787'],
    fixed_in: '2.4.1',
    affected: [{ vendor: 'muster', product: 'broker', version_range: '>= 2.0.0, < 2.4.1' }],
    description: /^A flaw in the broker/,
    sources: ['nvd', 'epss'],
  })
  t.match(data.notice, /not endorsed or certified by the NVD/)
  t.ok(sources.some(({ attribution }) => attribution === 'EPSS: FIRST.org'))
})

t.test('a search needs a keyword or a kind of device', async t => {
  await t.rejects(search(t, {}, {}), { code: 'invalid_request' })
})

t.test('the newest page of many records is asked for', async t => {
  const many = { totalResults: 950, vulnerabilities: [] }
  const { data, server } = await search(
    t,
    { keyword: 'broker' },
    {
      answers: {
        ...ALL,
        nvd: { body: JSON.stringify(many), headers: { 'content-type': 'application/json' } },
      },
    },
  )
  t.equal(data.total, 952)
  t.ok(server.requests.some(({ path }) => path.includes('startIndex=850')))
})

t.test('without the NVD the exploited ones are listed, with a warning', async t => {
  const { data, warnings } = await search(
    t,
    { keyword: 'broker' },
    { answers: { ...ALL, nvd: 'html' } },
  )
  t.strictSame(data.items.map(({ id }) => id).sort(), ['CVE-2019-10003', 'CVE-2020-10009'])
  t.ok(warnings.some(({ code, source }) => code === 'partial_result' && source === 'nvd'))
})

for (const [version, verdict, ids] of [
  ['2.4.0', 'vulnerable', ['CVE-2026-10001', 'CVE-2026-10002']],
  ['2.4.1', 'potential', ['CVE-2026-10002']],
  ['1.4p1', 'vulnerable', ['CVE-2019-10003', 'CVE-2026-10002']],
] as const)
  t.test(`version ${version} of a product is ${verdict}`, async t => {
    const { data } = await check(t, { product: 'muster broker', version }, { answers: ALL })
    t.equal(data.verdict, verdict)
    t.strictSame(data.cpe, ['cpe:2.3:a:muster:broker'])
    t.strictSame(data.items.map(({ id }) => id).sort(), ids)
  })

t.test('without a version every record of the product is possible', async t => {
  const { data } = await check(t, { product: 'broker' }, { answers: ALL })
  t.match(data, { verdict: 'potential', counts: { critical: 1, medium: 1, unknown: 1, kev: 1 } })
})

t.test(
  'a product without records is not affected, and without sources nothing is known',
  async t => {
    const empty = { ...ALL, nvd: nvdWith('empty.json', 'no-products.json') }
    t.equal(
      (await check(t, { product: 'broker' }, { answers: empty })).data.verdict,
      'not_affected',
    )
    const { data, warnings } = await check(
      t,
      { product: 'broker' },
      { answers: { nvd: 'limited' } },
    )
    t.equal(data.verdict, 'unknown')
    t.ok(warnings.some(({ code }) => code === 'partial_result'))
  },
)

t.test('packages are checked in their own databases', async t => {
  const answers: typeof ALL = { ...ALL, osv: 'good.json', nvd: nvdWith('empty.json') }
  const { data, server } = await check(t, { product: 'ollama', version: '0.3.1' }, { answers })
  t.match(data, {
    verdict: 'vulnerable',
    items: [{ id: 'CVE-2026-10011', fixed_in: '0.3.2', match: 'version' }],
  })
  const asked = server.requests.find(({ source }) => source === 'osv')
  t.strictSame(JSON.parse(asked?.body ?? ''), {
    package: { name: 'github.com/ollama/ollama', ecosystem: 'Go' },
    version: '0.3.1',
  })
})

t.test('versions of any scheme are ordered', t => {
  const ordered = ['1.0-alpha', '1.0-rc1', '1.0', '1.0.1', '1.2', '1.10', '9.8', '9.8p1', '9.9']
  for (const [at, version] of ordered.entries())
    for (const [other, against] of ordered.entries())
      t.equal(
        Math.sign(compareVersions(version, against)),
        Math.sign(at - other),
        `${version} ${against}`,
      )
  t.equal(compareVersions('v2.0', '2.0.0'), 0)
  t.end()
})
