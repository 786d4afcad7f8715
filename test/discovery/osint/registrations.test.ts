import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import t, { type Test } from 'tap'
import type { Whois } from '../../../discovery/modules/osint/whois-lookup.ts'
import { findRdapServer } from '../../../discovery/runs/osint/whois/read-bootstrap.ts'
import { findReferral, readWhois } from '../../../discovery/runs/osint/whois/read-whois.ts'
import { runLookup, type UpstreamTestOptions } from '../../support/upstreams.ts'

const lookUp = (t: Parameters<typeof runLookup>[0], options: UpstreamTestOptions) =>
  runLookup<Whois>(t, 'whois-lookup', { domain: 'www.shoal-test.org' }, options)

t.test('the registration of a subdomain is that of its domain, without persons', async t => {
  const { data, server } = await lookUp(t, { answers: { rdap: 'good.json' } })
  t.strictSame(data, {
    domain: 'shoal-test.org',
    registered: true,
    method: 'rdap',
    server: 'rdap',
    registrar: 'Muster Registrar GmbH',
    registrar_iana_id: 9376,
    created_at: '2015-08-14T04:00:00.000Z',
    updated_at: '2025-08-14T07:01:44.000Z',
    expires_at: '2026-08-13T04:00:00.000Z',
    days_to_expiry: 164,
    status: ['client transfer prohibited', 'active'],
    nameservers: ['ns1.shoal-test.org'],
    dnssec: true,
    registrant_org: 'Muster Werke',
    registrant_country: 'DE',
    abuse_email: 'abuse@registrar.example',
  })
  t.match(server.requests, [
    { path: '/domain/shoal-test.org', headers: { accept: 'application/rdap+json' } },
  ])
})

t.test('a domain that the registry does not know is not registered', async t => {
  const rdap = { status: 404, body: '{}', headers: { 'content-type': 'application/rdap+json' } }
  const { data } = await lookUp(t, { answers: { rdap } })
  t.match(data, { registered: false, registrar: null, days_to_expiry: null })
})

t.test('the server of the longest suffix is asked, and only over TLS', t => {
  const body = {
    services: [
      [['org'], ['http://plain.example/', 'https://rdap.example/org/']],
      [['co.org'], ['https://rdap.example/co/']],
    ],
  }
  t.equal(findRdapServer(body, 'shoal.org'), 'https://rdap.example/org')
  t.equal(findRdapServer(body, 'shoal.co.org'), 'https://rdap.example/co')
  t.equal(findRdapServer(body, 'shoal.example'), undefined)
  t.end()
})

/** A WHOIS server; the result is its port. */
const openWhois = async (t: Pick<Test, 'teardown'>, answer: (question: string) => string) => {
  const server = createServer(socket =>
    socket.once('data', data => socket.end(answer(data.toString()))),
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

t.test('WHOIS answers where the registry has no RDAP', async t => {
  const questions: string[] = []
  const port = await openWhois(t, question => {
    questions.push(question)
    return '% comment\r\nDomain Name: SHOAL-TEST.ORG\r\nRegistrar: M\u00fcster\r\n'
  })
  const { data } = await lookUp(t, whoisOnly(port))
  t.match(data, { registered: true, method: 'whois', registrar: 'M\u00fcster' })
  t.strictSame(questions, ['shoal-test.org\r\n'])
})

t.test('a referral to a server inside of the network is refused', async t => {
  const port = await openWhois(t, () => 'refer: whois.registry.example\r\n')
  const resolve = async () => [{ address: '127.0.0.1', family: 4 }]
  await t.rejects(
    lookUp(t, { ...whoisOnly(port), resolve }),
    /whois: .*not an address of the public internet/,
  )
})

/** No registry has RDAP, and WHOIS is at the port. */
const whoisOnly = (port: number): UpstreamTestOptions => ({
  answers: {
    'rdap-bootstrap': { body: '{"services":[]}', headers: { 'content-type': 'application/json' } },
  },
  sources: { whois: { url: `whois://127.0.0.1:${port}` } },
})

t.test('texts of registries are read whatever their words', t => {
  const text = [
    '% Terms of use: none',
    'Domain Name: SHOAL.EXAMPLE',
    'Registrar: Muster Registrar',
    'Registrar IANA ID: 42',
    'Registrar WHOIS Server: whois.registrar.example',
    'Creation Date: 2015-08-14T04:00:00Z',
    'paid-till: 2026-08-13',
    'Domain Status: ok https://icann.example/epp#ok',
    'Name Server: NS1.SHOAL.EXAMPLE 192.0.2.1',
    'DNSSEC: unsigned',
    '>>> Last update: now <<<',
  ].join('\r\n')
  t.match(readWhois(text), {
    registrar: 'Muster Registrar',
    registrar_iana_id: 42,
    expires_at: '2026-08-13T00:00:00.000Z',
    status: ['ok'],
    nameservers: ['ns1.shoal.example'],
    dnssec: false,
  })
  t.equal(findReferral(text), 'whois.registrar.example')
  for (const none of ['No match for "X".', 'Status: free', 'Domain: x\nStatus: available', ''])
    t.equal(readWhois(none), undefined, none)
  t.end()
})
