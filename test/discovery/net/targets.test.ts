import t from 'tap'
import { listTargets } from '../../../discovery/net/list-targets.ts'
import { parseArpTable } from '../../../discovery/net/neighbour-table.ts'
import { resolveTarget } from '../../../discovery/resolve-target.ts'

const scopeOf = (...targets: string[]) => ({ entries: targets.map(target => ({ target })) })

t.test('targets of a network', async t => {
  for (const [subnet, scope, count] of [
    ['10.0.0.0/30', ['10.0.0.0/24'], 2],
    ['10.0.0.0/24', ['10.0.0.64/26'], 62],
    ['10.0.0.7', ['10.0.0.0/24'], 1],
    ['10.0.0.0/31', ['10.0.0.0/24'], 2],
    ['127.0.0.1', [], 1],
    ['fd00::10/126', ['fd00::/120'], 4],
    ['10.0.0.0/20', ['10.0.0.0/22', '10.0.4.0/22'], 1024],
  ] as const)
    t.test(`${subnet} in ${scope.join() || 'no scope'} gives ${count}`, async t => {
      const { addresses, isCut } = await listTargets(subnet, scopeOf(...scope))
      t.equal(addresses.length, count)
      t.equal(isCut, count === 1024)
    })

  t.test('a network that an operator forced is scanned as a whole', async t => {
    const scope = { entries: [{ target: '10.0.0.0/20', is_forced: true }] }
    t.equal((await listTargets('10.0.0.0/20', scope)).isCut, false)
    t.equal((await listTargets('10.0.0.0/20', scope)).addresses.length, 4094)
  })

  t.test('a network outside the scope is refused', async t => {
    await t.rejects(listTargets('10.1.0.0/24', scopeOf('10.0.0.0/24')), { code: 'scope_denied' })
    await t.rejects(listTargets('10.0.0.0/99', scopeOf('10.0.0.0/24')), { code: 'invalid_request' })
  })

  t.test('addresses that no entry can allow are left out', async t => {
    const scope = { ...scopeOf('100.100.100.192/28', '10.0.0.0/29'), excluded: ['10.0.0.4/30'] }
    t.strictSame((await listTargets('10.0.0.0/29', scope)).addresses.length, 3)
    const metadata = await listTargets('100.100.100.192/28', scope)
    t.notOk(metadata.addresses.includes('100.100.100.200'))
    await t.rejects(listTargets('10.0.0.4/30', scope), { code: 'scope_denied' })
  })

  t.test('a huge network of forbidden addresses ends', async t => {
    const forced = { entries: [{ target: 'fd00:1::/32', is_forced: true }] }
    const scope = { ...forced, excluded: ['fd00:1::/64'] }
    await t.rejects(listTargets('fd00:1::/64', scope), { code: 'scope_denied' })
    t.equal((await listTargets('fd00:1:0:2::/64', scope)).addresses.length, 65_536)
  })

  t.test('without a network it is loopback and the scope, with its names', async t => {
    const lookUp = async (name: string) => (name === 'nas.lan' ? [{ address: '10.9.9.9' }] : [])
    const { addresses, scope } = await listTargets(
      undefined,
      scopeOf('10.0.0.0/30', 'nas.lan', 'gone.lan'),
      (scope, name) => resolveTarget(scope, name, lookUp),
    )
    t.strictSame(addresses, ['127.0.0.1', '::1', '10.9.9.9', '10.0.0.1', '10.0.0.2'])
    t.ok(scope.entries.some(({ target }) => target === '10.9.9.9'))
  })
})

t.test('only complete entries of the ARP table are hosts', async t => {
  const table = parseArpTable(
    `IP address       HW type     Flags       HW address            Mask     Device
10.0.0.1         0x1         0x2         02:FC:00:00:00:05     *        eth0
10.0.0.9         0x1         0x0         00:00:00:00:00:00     *        eth0
`,
  )
  t.strictSame([...table], [['10.0.0.1', '02:fc:00:00:00:05']])
})
