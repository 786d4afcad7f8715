import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import {
  isAddressRange,
  networkOf,
  TrustedProxies,
} from '../../../../coordinator/surfaces/http/trusted-proxies.ts'
import { appWith, config } from '../../../support/app.ts'

t.test('the address of a client is the last one that a trusted proxy has seen', async t => {
  const proxies = new TrustedProxies([
    ...['10.0.0.0/8', '192.0.2.7', 'fd00::/8'],
    ...['::ffff:100.64.0.0/106', '::FFFF:192.0.2.9', 'fe80::7'],
  ])
  const cases: [from: string, forwarded: string | undefined, client: string][] = [
    ['198.51.100.1', '203.0.113.9', '198.51.100.1'],
    ['10.1.2.3', undefined, '10.1.2.3'],
    ['10.1.2.3', '203.0.113.9', '203.0.113.9'],
    ['::ffff:10.1.2.3', '203.0.113.9', '203.0.113.9'],
    ['fd00::1', '2001:db8::5', '2001:db8::5'],
    ['10.1.2.3', '127.0.0.1, 203.0.113.9, 192.0.2.7', '203.0.113.9'],
    ['10.1.2.3', '10.9.9.9, 192.0.2.7', '10.9.9.9'],
    ['10.1.2.3', '203.0.113.9, unknown', '10.1.2.3'],
    ['10.1.2.3', '203.0.113.9:4711', '10.1.2.3'],
    ['', '203.0.113.9', ''],
    ['100.64.9.9', '::ffff:203.0.113.9', '203.0.113.9'],
    ['192.0.2.9', '2001:DB8:0:0::A', '2001:db8::a'],
    ['FE80::7%eth0', '203.0.113.9, 0:0:0:0:0:FFFF:0A01:0203', '203.0.113.9'],
    ['::ffff:198.51.100.1', undefined, '198.51.100.1'],
    ['10.1.2.3', '203.0.113.9, 0x7f.1', '10.1.2.3'],
  ]
  for (const [from, forwarded, client] of cases) {
    const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
    const socket = { remoteAddress: from || undefined } as never
    t.equal(proxies.clientAddress({ socket, headers }), client, `${from} ${forwarded}`)
  }
  t.strictSame(['10.0.0.0/8', '::1', '10.0.0.0/33', 'proxy'].map(isAddressRange), [
    true,
    true,
    false,
    false,
  ])
})

t.test('the spellings of one address are one network', t => {
  const spellings = ['2001:db8::1', '2001:DB8:0:0::2', '2001:0db8::3', '2001:db8::4%eth0']
  t.strictSame([...new Set(spellings.map(networkOf))], ['2001:db8:0:0'])
  t.strictSame(['::ffff:192.0.2.1', '::FFFF:C000:201', ''].map(networkOf), [
    '192.0.2.1',
    '192.0.2.1',
    '',
  ])
  t.end()
})

/** Asks so often without a key, each time for another address, and returns the statuses. */
const askFor = async (t: Test, trusted: string[], path: string): Promise<number[]> => {
  const app = await appWith({
    config: config({ http: { trusted_proxies: trusted }, limits: { anonymous_per_minute: 1 } }),
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const { port } = app.server.address() as AddressInfo
  const statuses: number[] = []
  for (let client = 1; client <= 3; client++) {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { 'x-forwarded-for': `203.0.113.${client}`, authorization: 'Bearer none' },
    })
    await response.arrayBuffer()
    statuses.push(response.status)
  }
  return statuses
}

t.test('clients behind a trusted proxy have limits of their own', async t => {
  for (const path of ['/v1/chat/completions', '/v1/keys'])
    t.strictSame(await askFor(t, ['127.0.0.0/8'], path), [401, 401, 401], path)
})

t.test('a client that is no trusted proxy cannot change its address', async t => {
  for (const path of ['/v1/chat/completions', '/v1/keys'])
    t.strictSame(await askFor(t, ['192.0.2.7'], path), [401, 429, 429], path)
})
