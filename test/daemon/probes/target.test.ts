import t from 'tap'
import { isAllowed, parseTarget } from '../../../daemon/probes/target.ts'

for (const [asked, entry, allowed] of [
  ['http://example.org/', 'example.org', true],
  ['https://example.org/a', 'example.org', true],
  ['http://example.org:8080/', 'example.org', false],
  ['http://example.org:8080/', 'example.org:8080', true],
  ['http://example.org/', 'example.org:8080', false],
  ['http://example.org:443/', 'example.org', true],
  ['http://www.example.org/', 'example.org', false],
  ['http://example.org.evil/', 'example.org', false],
  ['http://192.0.2.7/', '192.0.2.0/24', true],
  ['http://192.0.3.7/', '192.0.2.0/24', false],
  ['http://192.0.2.7:22/', '192.0.2.0/24', false],
  ['http://3221225991/', '192.0.2.0/24', true],
  ['http://3221226247/', '192.0.2.0/24', false],
  ['http://example.org/', '0.0.0.0/0', false],
  ['http://192.0.2.7/', '::/0', false],
  ['http://192.0.2.7/', '192.0.2.0/99', false],
  ['http://192.0.2.7/', '192.0.2.0', false],
  ['http://192.0.2.7/', 'nonsense/8', false],
] as const)
  t.test(`${entry} ${allowed ? 'allows' : 'does not allow'} ${asked}`, async t => {
    t.equal(isAllowed(parseTarget(asked), [entry]), allowed)
  })

t.test('IPv6 addresses and names can be pinged where an entry allows it', async t => {
  t.equal(isAllowed({ host: '2001:db8::1' }, ['2001:db8::/32']), true)
  t.equal(isAllowed({ host: '2001:db9::1' }, ['2001:db8::/32']), false)
  t.equal(isAllowed({ host: '2001:db8::1' }, ['2001:db8::1']), true)
  t.equal(isAllowed({ host: 'printer' }, ['scanner', 'printer']), true)
  t.equal(isAllowed({ host: 'printer' }, []), false)
})
