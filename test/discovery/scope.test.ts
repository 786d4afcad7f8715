import fc from 'fast-check'
import t from 'tap'
import { resolveTarget } from '../../discovery/resolve-target.ts'
import {
  findEntryFault,
  isInScope,
  isNameInScope,
  normaliseTarget,
  requireInScope,
} from '../../discovery/scope.ts'
import { MAX_SCOPE_ADDRESSES, type ScanScope } from '../../shared/wire/scan-scope.ts'

const scopeOf = (...targets: string[]): ScanScope => ({
  entries: targets.map(target => ({ target })),
})

const v4 = (number: number): string =>
  [24, 16, 8, 0].map(shift => (number >>> shift) & 255).join('.')
const V4 = fc.integer({ min: 0, max: 0xffffffff })

t.test('an IPv4 address is in scope exactly when a network of at most a /22 holds it', async () => {
  const cases = fc.record({ base: V4, bits: fc.integer({ min: 8, max: 32 }), offset: V4 })
  fc.assert(
    fc.property(cases, fc.boolean(), ({ base, bits, offset }, isNear) => {
      const mask = bits === 32 ? 0xffffffff : ~(0xffffffff >>> bits) >>> 0
      const address = (isNear ? (base & mask) | (offset & ~mask) : offset) >>> 0
      // the address for all hosts is refused as the base of a network as well
      const isHeld = base !== 0xffffffff && (address & mask) >>> 0 === (base & mask) >>> 0
      const isLoopback = address >>> 24 === 127
      const isMetadata =
        address >>> 16 === 0xa9fe ||
        ['168.63.129.16', '100.100.100.200', '192.0.0.192'].includes(v4(address))
      const isGroup = address >>> 28 === 14 || address === 0xffffffff
      const wanted =
        !isMetadata &&
        !isGroup &&
        (isLoopback || (isHeld && 2 ** (32 - bits) <= MAX_SCOPE_ADDRESSES))
      const scope = scopeOf(`${v4(base)}/${bits}`)
      const isMapped = isInScope(scope, `::ffff:${v4(address)}`)
      return isInScope(scope, v4(address)) === wanted && isMapped === wanted
    }),
    { numRuns: 2000 },
  )
})

t.test('groups of hosts are never in scope, whatever an operator forces', async () => {
  const scope: ScanScope = {
    entries: ['192.0.0.0/8', '239.0.0.0/8', '255.0.0.0/8', 'ff02::/32'].map(target => ({
      target,
      is_forced: true,
    })),
  }
  for (const group of ['224.0.0.251', '239.255.255.250', '255.255.255.255', 'ff02::fb'])
    t.notOk(isInScope(scope, group), group)
  t.ok(isInScope(scope, '192.0.2.1'))
  t.match(findEntryFault({ target: '224.0.0.0/24' }), /not the address of a single host/)
})

t.test(
  'an IPv6 address is in scope exactly when a network of at most a /118 holds it',
  async () => {
    const host = fc.integer({ min: 0, max: 0xffff })
    fc.assert(
      fc.property(host, host, fc.integer({ min: 100, max: 128 }), (base, other, bits) => {
        const isHeld = base >>> (128 - bits) === other >>> (128 - bits)
        const scope = scopeOf(`2001:db8::${base.toString(16)}/${bits}`)
        return isInScope(scope, `2001:db8::${other.toString(16)}`) === (isHeld && bits >= 118)
      }),
    )
  },
)

t.test('no entry allows metadata services and container bridges', async t => {
  const networks = ['169.0.0.0/8', '172.0.0.0/8', 'fd00:ec2::/32', 'fd00:1::/32', 'fe80::/32']
  const wide = { entries: networks.map(target => ({ target, is_forced: true })) }
  for (const address of ['169.254.169.254', 'fd00:ec2::254', 'fe80::1%eth0', '::ffff:169.254.1.1'])
    t.notOk(isInScope(wide, address), address)
  const excluded = { ...wide, excluded: ['172.17.0.0/16', 'fd00:1::/64'] }
  fc.assert(fc.property(V4, host => !isInScope(excluded, v4(0xac110000 | (host & 0xffff)))))
  t.notOk(isInScope(excluded, 'fd00:1::5'))
  t.ok(isInScope(excluded, '172.18.0.1'))
  t.ok(isInScope({ ...excluded, excluded: ['127.0.0.0/8'] }, '127.0.0.1'), 'loopback always is')
})

t.test('an address in another spelling than four decimal parts is in no scope', async t => {
  for (const address of ['0x7f000001', '2130706433', '0177.0.0.1', '127.1', '', 'localhost'])
    t.notOk(isInScope(scopeOf('127.0.0.0/24'), address), address)
})

t.test('entries that are too large, or name nothing, are refused with the reason', async t => {
  t.match(findEntryFault({ target: '10.0.0.0/21' }), /more than 1024 addresses/)
  t.match(findEntryFault({ target: '2001:db8::/64' }), /more than 1024 addresses/)
  t.match(findEntryFault({ target: '10.0.0.0/33' }), /is not a network, an address or a name/)
  t.match(findEntryFault({ target: '169.254.0.0/24' }), /metadata/)
  for (const target of ['10.0.0.0/22', '10.0.0.1', '2001:db8::/118', 'printer.lan'])
    t.equal(findEntryFault({ target }), undefined, target)
  for (const target of ['10.0.0.0/8', '2001:db8::/32'])
    t.equal(findEntryFault({ target, is_forced: true }), undefined, target)
  t.match(findEntryFault({ target: '10.0.0.0/7', is_forced: true }), /larger than a \/8/)
  t.match(findEntryFault({ target: '2001:db8::/31', is_forced: true }), /larger than a \/32/)
  const everywhere = ['0.0.0.0/0', '::/0'].map(target => ({ target, is_forced: true }))
  for (const address of ['192.0.2.1', '2001:db8::1'])
    t.notOk(isInScope({ entries: everywhere }, address), 'nor does a stored one count')
})

t.test('a refusal says how to add the target', async t => {
  t.throws(() => requireInScope(scopeOf(), '192.0.2.1'), {
    code: 'scope_denied',
    message: /shoal discover scope add 192\.0\.2\.1/,
  })
})

t.test('a name in the scope allows the addresses that it had when it was resolved', async t => {
  const lookUp = async (name: string) =>
    name === 'printer.lan' ? [{ address: '192.0.2.7' }] : [{ address: '169.254.169.254' }]
  const scope = scopeOf('printer.lan', 'cloud.lan')
  const { addresses, scope: pinned } = await resolveTarget(scope, 'printer.lan', lookUp)
  t.strictSame(addresses, ['192.0.2.7'])
  t.ok(isInScope(pinned, '192.0.2.7'))
  t.notOk(isInScope(scope, '192.0.2.7'), 'of this run only')
  for (const [entry, host] of [
    ['printer.lan', 'Printer.LAN.'],
    ['printer.lan.', 'printer.lan'],
  ] as const)
    t.ok(isNameInScope(scopeOf(entry), host), `${entry} is ${host}`)
  await t.rejects(resolveTarget(scope, 'cloud.lan', lookUp), { code: 'scope_denied' })
  await t.rejects(resolveTarget(scopeOf(), 'printer.lan', lookUp), { code: 'scope_denied' })
  t.strictSame((await resolveTarget(scopeOf('192.0.2.0/24'), 'printer.lan', lookUp)).addresses, [
    '192.0.2.7',
  ])
  await t.rejects(resolveTarget(scope, '192.0.2.7', lookUp), { code: 'scope_denied' })
})

t.test('a target has one spelling, whatever an operator writes', async t => {
  for (const [text, target] of [
    ['10.1.1.5/24', '10.1.1.0/24'],
    ['192.0.2.7/32', '192.0.2.7'],
    [' Printer.LAN. ', 'printer.lan'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7/120', '192.0.2.0/24'],
    ['2001:DB8:0::5/118', '2001:db8::/118'],
    ['fd00::0001', 'fd00::1'],
    ['http://printer.lan', 'http://printer.lan'],
  ] as const)
    t.equal(normaliseTarget(text), target, text)
})

t.test('a refusal suggests to add only what can be added', async t => {
  const wide: ScanScope = { entries: [], excluded: ['172.17.0.0/16'] }
  for (const address of ['169.254.169.254', '224.0.0.251', '172.17.0.2'])
    t.throws(() => requireInScope(wide, address), {
      code: 'scope_denied',
      message: /^discovery never contacts /,
    })
  t.throws(() => requireInScope(wide, '::ffff:192.0.2.7'), { message: /scope add 192\.0\.2\.7$/ })
  for (const host of ['2130706433', '0x7f000001', '127.1', 'http://nas.lan', 'nas.lan:80', '[::1]'])
    await t.rejects(resolveTarget(wide, host), { code: 'invalid_request' }, host)
})
