import t, { type Test } from 'tap'
import dnsScan, { type DnsScan } from '../../../discovery/modules/osint/dns-scan.ts'
import type { IpAsn } from '../../../discovery/modules/osint/ip-to-asn.ts'
import { checkSpf } from '../../../discovery/runs/osint/dns/check-spf.ts'
import { openDnsServer, type Zone } from '../../support/dns-server.ts'
import { runLookup, type UpstreamTestOptions } from '../../support/upstreams.ts'

const txt = (name: string, ...data: string[]) => [
  { type: 'TXT' as const, name, ttl: 300, data: data.map(text => Buffer.from(text)) },
]

const ZONE: Zone = {
  'SOA shoal.example': [
    {
      type: 'SOA',
      name: 'shoal.example',
      ttl: 300,
      data: {
        mname: 'ns1.shoal.example',
        rname: 'root.shoal.example',
        serial: 7,
        refresh: 1,
        retry: 1,
        expire: 1,
        minimum: 1,
      },
    },
  ],
  'NS shoal.example': [{ type: 'NS', name: 'shoal.example', ttl: 300, data: 'ns1.shoal.example' }],
  'A shoal.example': [{ type: 'A', name: 'shoal.example', ttl: 300, data: '198.41.0.4' }],
  'MX shoal.example': [
    {
      type: 'MX',
      name: 'shoal.example',
      ttl: 300,
      data: { preference: 10, exchange: 'mx.shoal.example' },
    },
  ],
  'TXT shoal.example': txt('shoal.example', 'v=spf1 include:_spf.shoal.example ', '-all'),
  'TXT _spf.shoal.example': txt('_spf.shoal.example', 'v=spf1 a mx ~all'),
  'TXT _dmarc.shoal.example': txt('_dmarc.shoal.example', 'v=DMARC1; p=none; pct=50'),
  'TXT _mta-sts.shoal.example': txt('_mta-sts.shoal.example', 'v=STSv1; id=20260301'),
  'TXT mail._domainkey.shoal.example': txt(
    'mail._domainkey.shoal.example',
    'v=DKIM1; k=ed25519; p=AAAA',
  ),
  'TXT 10.2.0.203.origin.asn.cymru.com': txt(
    '10.2.0.203.origin.asn.cymru.com',
    '64500 64501 | 203.0.0.0/22 | DE | ripencc | 2011-04-19',
  ),
  'TXT AS64500.asn.cymru.com': txt(
    'AS64500.asn.cymru.com',
    '64500 | DE | ripencc | 2010-01-05 | EXAMPLE-AS Muster Netz, DE',
  ),
  'PTR 10.2.0.203.in-addr.arpa': [
    { type: 'PTR', name: '10.2.0.203.in-addr.arpa', ttl: 300, data: 'host.shoal.example' },
  ],
}

const run = async <Data>(
  t: Test,
  id: string,
  input: object,
  {
    zone = ZONE,
    isTruncated = false,
    ...options
  }: UpstreamTestOptions & { zone?: Zone; isTruncated?: boolean } = {},
) => {
  const { address, asked } = await openDnsServer(t, zone, { isTruncated })
  const dns = { servers: [address], dkim_selectors: ['mail', 'none'] }
  return { ...(await runLookup<Data>(t, id, input, { sources: { dns }, ...options })), asked }
}

t.test('a scan reads the records of a domain, and says what is weak', async t => {
  const { data } = await run<DnsScan>(t, 'dns-scan', { domain: 'shoal.example' })
  t.match(data, {
    exists: true,
    nameservers: ['ns1.shoal.example'],
    mail: {
      mx: [{ host: 'mx.shoal.example', priority: 10 }],
      spf: {
        valid: true,
        lookups: 3,
        policy: 'fail',
        record: 'v=spf1 include:_spf.shoal.example -all',
      },
      dmarc: { policy: 'none', percent: 50 },
      dkim: [{ selector: 'mail', key_type: 'ed25519', bits: 256 }],
      mta_sts: true,
      tls_rpt: false,
    },
    dnssec: { signed: false, ds: 0, validated: null },
    wildcard: false,
  })
  t.match(
    data.records.find(({ type }) => type === 'A'),
    { value: '198.41.0.4', ttl_s: 300, scope: 'global' },
  )
  t.strictSame(data.findings.map(({ code }) => code).sort(), [
    'caa_missing',
    'dmarc_not_enforced',
    'dnssec_missing',
    'one_nameserver',
  ])
})

const addressRecord = (data: string) =>
  ({ type: 'A', name: 'shoal.example', ttl: 300, data }) as const

t.test('an address of the own network behind a public name is reported and not shown', async t => {
  for (const [address, scope] of [
    ['10.11.12.13', 'private'],
    ['127.0.0.53', 'private'],
    ['169.254.7.7', 'private'],
    ['0.0.0.0', 'reserved'],
  ] as const) {
    const zone: Zone = {
      ...ZONE,
      'A shoal.example': [addressRecord(address), addressRecord('198.41.0.4')],
    }
    const domain = 'shoal.example'
    const { data, warnings } = await run<DnsScan>(t, 'dns-scan', { domain }, { zone })
    const found = data.records.filter(({ type }) => type === 'A')
    t.match(
      found,
      [
        { value: null, scope },
        { value: '198.41.0.4', scope: 'global' },
      ],
      address,
    )
    t.match(warnings, [{ code: 'partial_result', message: /private networks/ }])
    t.ok(data.findings.some(({ code }) => code === 'split_horizon'))
    t.notMatch(JSON.stringify(data), address)
  }
})

t.test('a scan of names leaves no evidence in the registry', async t => {
  t.equal(dnsScan.observe, undefined)
})

t.test('names of the own network are not asked for', async t => {
  for (const domain of [
    'nas.lan',
    'db.corp.internal',
    '1.168.192.in-addr.arpa',
    'router.home.arpa',
  ])
    await t.rejects(run(t, 'dns-scan', { domain }), { code: 'invalid_request' }, domain)
})

t.test('a name that does not exist is a result', async t => {
  const { data, asked } = await run<DnsScan>(t, 'dns-scan', { domain: 'nothing.example' })
  t.match(data, { exists: false, records: [], findings: [] })
  t.equal(asked.length, 1, 'nothing else is asked')
})

t.test('an answer that does not fit into a packet is asked for over TCP', async t => {
  const { data, asked } = await run<DnsScan>(
    t,
    'dns-scan',
    { domain: 'shoal.example' },
    { isTruncated: true },
  )
  t.strictSame(data.nameservers, ['ns1.shoal.example'])
  t.ok(asked.includes('tcp NS shoal.example'))
})

t.test('a resolver that does not answer fails the scan', async t => {
  const sources = { dns: { servers: ['127.0.0.1:1'] } }
  const scan = runLookup(t, 'dns-scan', { domain: 'shoal.example' }, { sources })
  await t.rejects(scan, /dns: SOA of shoal\.example was not answered: 127\.0\.0\.1:1/)
})

t.test('with egress off nothing is asked', async t => {
  const options = { settings: { egress: 'off' as const } }
  const scan = runLookup(t, 'dns-scan', { domain: 'shoal.example' }, options)
  await t.rejects(scan, /dns: upstreams.egress is off/)
})

t.test('lookups of an SPF record are counted through its includes, and end at a loop', async t => {
  const texts: Record<string, string[]> = {
    a: ['v=spf1 include:b mx -all'],
    b: ['v=spf1 include:a redirect=%{i}.c ?all'],
  }
  const checked = await checkSpf(texts.a ?? [], async name => texts[name] ?? [])
  t.match(checked, { valid: false, policy: 'fail' })
  t.ok(checked.lookups > 10)
  t.match(await checkSpf(['v=spf1 +all', 'v=spf1 -all'], async () => []), {
    valid: false,
    policy: 'pass',
  })
  t.match(await checkSpf([], async () => []), { record: null, valid: false })
})

t.test('an address has its network, system, contact and names', async t => {
  const { data } = await run<IpAsn>(
    t,
    'ip-to-asn',
    { ip: '203.0.2.10' },
    {
      answers: { ripestat: 'abuse-contact-finder.json' },
    },
  )
  t.match(data, {
    scope: 'global',
    announced: true,
    prefix: '203.0.0.0/22',
    asns: [
      {
        asn: 64500,
        name: 'EXAMPLE-AS Muster Netz, DE',
        registry_country: 'DE',
        allocated_on: '2010-01-05',
      },
      { asn: 64501, name: null },
    ],
    abuse_contacts: ['abuse@netz.example'],
    reverse_dns: ['host.shoal.example'],
  })
})

t.test('RIPEstat stands in for the DNS', async t => {
  const answers = {
    ripestat: ({ path }: { path: string }) =>
      `${/data\/([a-z-]+)\//.exec(path)?.[1]}.json` as const,
  }
  const sources = { dns: { servers: ['127.0.0.1:1'] } }
  const { data, warnings } = await runLookup<IpAsn>(
    t,
    'ip-to-asn',
    { ip: '203.0.2.10' },
    { answers, sources },
  )
  t.match(data, { announced: true, asns: [{ asn: 64500, name: 'EXAMPLE-AS Muster Netz' }] })
  t.ok(warnings.some(({ code }) => code === 'fallback_used'))
})

for (const [ip, scope] of [
  ['10.1.2.3', 'private'],
  ['fd00::1', 'private'],
  ['192.0.2.1', 'reserved'],
  ['::ffff:127.0.0.1', 'private'],
] as const)
  t.test(`${ip} is ${scope}, and nobody is asked about it`, async t => {
    const { data, server } = await runLookup<IpAsn>(t, 'ip-to-asn', { ip }, {})
    t.match(data, { scope, announced: false, asns: [] })
    t.equal(server.requests.length, 0)
  })
