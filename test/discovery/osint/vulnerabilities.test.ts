import t from 'tap'
import { CveDeviceType } from '../../../discovery/fields/cve-hit.ts'
import type { CveCheck } from '../../../discovery/modules/osint/cve-check.ts'
import type { CveSearch } from '../../../discovery/modules/osint/cve-search.ts'
import { compareVersions } from '../../../discovery/runs/osint/cve/compare-versions.ts'
import type { SourceAnswer, SourceRequest } from '../../support/upstream-server.ts'
import { FIXTURE_NOW, runLookup, type UpstreamTestOptions } from '../../support/upstreams.ts'

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
  t.ok(server.requests.some(({ path }) => path.includes('startIndex=750')))
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

t.test('a product without records is not affected, and one not found is unknown', async t => {
  const none = { answers: { ...ALL, nvd: nvdWith('empty.json') } }
  const { data } = await check(t, { product: 'broker' }, none)
  t.match(data, { verdict: 'not_affected', counts: { critical: 0, kev: 0 } })
  for (const [why, products] of [
    ['absent', 'no-products.json'],
    ['another name', 'products.json'],
  ] as const) {
    const answers = { ...ALL, nvd: nvdWith('empty.json', products) }
    const product = why === 'absent' ? 'broker' : 'broke'
    const { data, warnings } = await check(t, { product, version: '1.0' }, { answers })
    t.match(data, { verdict: 'unknown', cpe: [], counts: { critical: null, kev: null } }, why)
    t.ok(warnings.some(({ message }) => message.includes('not in the dictionary')))
  }
})

t.test(
  'neither the words of a product that was not found nor a missing source gives a verdict',
  async t => {
    const byName = { ...ALL, nvd: nvdWith('good.json', 'no-products.json') }
    const { data } = await check(t, { product: 'broker', version: '2.4.0' }, { answers: byName })
    t.match(data, { verdict: 'unknown', items: [{ match: 'keyword' }] })
    const away = await check(t, { product: 'broker' }, { answers: { nvd: 'limited' } })
    t.match(away.data, { verdict: 'unknown', counts: { critical: null } })
    t.ok(away.warnings.some(({ code }) => code === 'partial_result'))
  },
)

interface PagedOptions {
  total: number
  /** Entries of the dictionary. */
  products?: readonly string[]
  /** First record of a page that is refused, as over the rate. */
  refusedFrom?: number
}

/**
 * The NVD with pages, the oldest record first: only the oldest names version 1.0.1 of OpenSSL. As at
 * the NVD, a page has no more than `resultsPerPage` records, and bounds of versions choose records.
 */
const nvdWithPages =
  ({
    total,
    products = ['openssl:openssl'],
    refusedFrom = Number.POSITIVE_INFINITY,
  }: PagedOptions): SourceAnswer =>
  ({ path }) => {
    const query = new URL(path, 'http://nvd.invalid').searchParams
    const start = Number(query.get('startIndex') ?? 0)
    const size = Math.min(Number(query.get('resultsPerPage') ?? 2000), 2000)
    if (path.startsWith('/cpes')) {
      const all = products.map(name => ({
        cpe: { deprecated: false, cpeName: `cpe:2.3:a:${name}:1.0.1:*:*:*:*:*:*:*` },
      }))
      return replyWith({ totalResults: all.length, products: all })
    }
    if (start >= refusedFrom) return { status: 403 }
    const [version, end] = [query.get('versionStart'), query.get('versionEnd')]
    const all = Array.from({ length: total }, (_, at) => oldRecord(at)).filter(
      each =>
        version === null || (version === end && JSON.stringify(each).includes(`:${version}:`)),
    )
    const vulnerabilities = all.slice(start, start + size)
    return replyWith({
      resultsPerPage: vulnerabilities.length,
      startIndex: start,
      totalResults: all.length,
      format: 'NVD_CVE',
      version: '2.0',
      vulnerabilities,
    })
  }

const replyWith = (value: object) => ({
  body: JSON.stringify(value),
  headers: { 'content-type': 'application/json' },
})

const oldRecord = (at: number) => {
  const criteria = `cpe:2.3:a:openssl:openssl:${at === 0 ? '1.0.1' : `3.0.${at}`}:*:*:*:*:*:*:*`
  const cpeMatch = [{ vulnerable: true, criteria, matchCriteriaId: `${at}` }]
  return {
    cve: {
      id: `CVE-2014-${10_000 + at}`,
      descriptions: [{ lang: 'en', value: 'A flaw.' }],
      configurations: [{ nodes: [{ operator: 'OR', negate: false, cpeMatch }] }],
    },
  }
}

t.test('every page of a product is read, the oldest records too', async t => {
  const answers = { ...ALL, nvd: nvdWithPages({ total: 300 }) }
  const { data, server } = await check(t, { product: 'OpenSSL', version: '1.0.1' }, { answers })
  t.match(data, { verdict: 'vulnerable', cpe: ['cpe:2.3:a:openssl:openssl'] })
  t.strictSame(
    data.items.map(({ id }) => id),
    ['CVE-2014-10000'],
  )
  const pages = server.requests.filter(({ path }) => path.startsWith('/cves'))
  t.equal(pages.length, 2)
  const other = await check(t, { product: 'openssl', version: '1.0.2' }, { answers })
  t.equal(other.data.verdict, 'not_affected')
})

t.test(
  'of a product with more records than are read, those of the version are asked for',
  async t => {
    const answers = { ...ALL, nvd: nvdWithPages({ total: 2500 }) }
    const { data } = await check(t, { product: 'openssl', version: '1.0.1' }, { answers })
    t.match(data, { verdict: 'vulnerable', items: [{ id: 'CVE-2014-10000' }] })
    const { data: other } = await check(t, { product: 'openssl', version: '1.0.2' }, { answers })
    t.equal(other.verdict, 'not_affected')
  },
)

t.test(
  'a verdict on records of which some were not read is unknown, and they are named',
  async t => {
    const many = { ...ALL, nvd: nvdWithPages({ total: 2500 }) }
    let now = FIXTURE_NOW
    const wait = async (ms: number): Promise<void> => {
      now += ms
    }
    const options = { answers: many, now: () => now, wait }
    const cut = await check(t, { product: 'openssl', version: '1.0.2k' }, options)
    // eleven requests at the rate without a key: five at once, then one each six seconds
    t.equal(now - FIXTURE_NOW, 36_000)
    t.match(cut.data, { verdict: 'unknown', counts: { critical: null } })
    t.ok(cut.warnings.some(({ message }) => message === '2000 of 2500 records were read'))
    const refused = { ...ALL, nvd: nvdWithPages({ total: 300, refusedFrom: 200 }) }
    const half = await check(t, { product: 'openssl', version: '1.0.2' }, { answers: refused })
    t.equal(half.data.verdict, 'unknown')
    t.ok(half.warnings.some(({ message }) => message === '200 of 300 records were read'))
  },
)

t.test('a name that two vendors have is not certain', async t => {
  const products = ['openssl_project:lib', 'other:lib']
  const answers = { ...ALL, nvd: nvdWithPages({ total: 0, products }) }
  const { data, warnings } = await check(t, { product: 'lib', version: '1' }, { answers })
  t.equal(data.verdict, 'unknown')
  t.ok(warnings.some(({ message }) => /of openssl_project and of other/.test(message)))
  t.equal((await check(t, { product: 'other lib' }, { answers })).data.verdict, 'not_affected')
})

t.test('use by ransomware is null without the list of exploited vulnerabilities', async t => {
  const good = { ...ALL, kev: 'down' as const, nvd: nvdWith('exploited.json') }
  const { data, warnings } = await check(t, { product: 'broker' }, { answers: good })
  t.match(data, { counts: { kev: null }, items: [{ kev: { ransomware: null } }] })
  t.ok(warnings.some(({ message, source }) => source === 'cisa-kev' && /ransomware/.test(message)))
  const { data: known } = await check(
    t,
    { product: 'broker' },
    { answers: { ...good, kev: 'good.json' } },
  )
  t.match(known, { counts: { kev: 1 }, items: [{ kev: { ransomware: true } }] })
})

t.test('what was read before the deadline is answered, unless nobody waits', async t => {
  const pages = nvdWithPages({ total: 900 })
  const checkUntil = (ending: Error, version: string) => {
    const end = new AbortController()
    const nvd: SourceAnswer = request => {
      if (request.path.includes('startIndex=500')) end.abort(ending)
      return typeof pages === 'function' ? pages(request) : pages
    }
    const options = { answers: { ...ALL, nvd }, signal: end.signal }
    return check(t, { product: 'openssl', version }, options)
  }
  const late = new DOMException('late', 'TimeoutError')
  const { data, warnings } = await checkUntil(late, '1.0.2')
  t.match(data, { verdict: 'unknown', counts: { critical: null } })
  t.ok(warnings.some(({ message }) => message === '400 of 900 records were read'))
  t.ok(warnings.some(({ message }) => message.includes('the deadline passed')))
  const { data: found } = await checkUntil(late, '1.0.1')
  t.match(found, { verdict: 'vulnerable', counts: { kev: null }, items: [{ epss: null }] })
  await t.rejects(checkUntil(new Error('gone'), '1.0.1'), { message: 'gone' })
})

t.test('a kind of device is searched for by products of the dictionary', async t => {
  for (const device_type of CveDeviceType.options) {
    const { server } = await search(t, { device_type }, { answers: ALL })
    const queries = server.requests
      .filter(({ path }) => path.startsWith('/cves'))
      .map(({ path }) => new URL(path, 'http://nvd.invalid').searchParams)
    t.ok(queries.length > 0, device_type)
    for (const query of queries) {
      t.match(query.get('virtualMatchString'), /^cpe:2\.3:\*:[^:*]+:[^:*]+$/)
      t.notOk(query.has('keywordSearch'))
    }
  }
  const { server } = await search(t, { keyword: 'tls', device_type: 'router' }, { answers: ALL })
  const both = server.requests.filter(({ path }) => path.includes('keywordSearch=tls'))
  t.ok(both.some(({ path }) => path.includes('mikrotik%3Arouteros')))
})

t.test('records of a kind of device give no verdict on a device without a product', async t => {
  const { data, warnings } = await check(t, {}, { answers: ALL })
  t.match(data, { verdict: 'unknown', items: [{ match: 'keyword' }] })
  t.ok(warnings.some(({ message }) => message.includes('without a product')))
})

t.test('a package with more pages than are read, or a source away, is not cleared', async t => {
  const nvd = nvdWithPages({ total: 0, products: ['vllm:vllm'] })
  for (const osv of [replyWith({ next_page_token: 'more' }), 'down'] as const) {
    const answers: typeof ALL = { ...ALL, nvd, osv }
    const { data, warnings } = await check(t, { product: 'vllm', version: '0.6.0' }, { answers })
    t.equal(data.verdict, 'unknown')
    t.ok(warnings.some(({ source }) => source === 'osv'))
  }
  const answers: typeof ALL = { ...ALL, nvd, osv: replyWith({}) }
  const { data } = await check(t, { product: 'vllm', version: '0.6.0' }, { answers })
  t.equal(data.verdict, 'not_affected')
})

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
