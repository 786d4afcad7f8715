import t from 'tap'
import { listTargets } from '../../../discovery/net/list-targets.ts'
import { parseArpTable } from '../../../discovery/net/neighbour-table.ts'
import { resolveTarget } from '../../../discovery/net/resolve-target.ts'

const scopeOf = (...targets: string[]) => ({ entries: targets.map(target => ({ target })) })

t.test('targets of a network', async t => {
  for (const [subnet, scope, count] of [
    ['10.0.0.0/30', ['10.0.0.0/24'], 2],
    ['10.0.0.0/24', ['10.0.0.64/26'], 62],
    ['10.0.0.7', ['10.0.0.0/24'], 1],
    ['10.0.0.0/31', ['10.0.0.0/24'], 2],
    ['127.0.0.1', [], 1],
    ['fd00::10/126', ['fd00::/64'], 4],
    ['10.0.0.0/16', ['10.0.0.0/16'], 1024],
  ] as const)
    t.test(`${subnet} in ${scope.join() || 'no scope'} gives ${count}`, async t => {
      const { addresses, isCut } = await listTargets(subnet, scopeOf(...scope))
      t.equal(addresses.length, count)
      t.equal(isCut, count === 1024)
    })

  t.test('a network that an operator forced is scanned as a whole', async t => {
    const scope = { entries: [{ target: '10.0.0.0/20', is_forced: true }] }
    t.equal((await listTargets('10.0.0.0/20', scope)).addresses.length, 4094)
  })

  t.test('a network outside the scope is refused', async t => {
    await t.rejects(listTargets('10.1.0.0/24', scopeOf('10.0.0.0/24')), { code: 'forbidden' })
    await t.rejects(listTargets('10.0.0.0/99', scopeOf('10.0.0.0/24')), { code: 'invalid_request' })
  })

  t.test('without a network it is loopback and the scope, with its names', async t => {
    const resolve = async (name: string) => (name === 'nas.lan' ? ['10.9.9.9'] : [])
    const { addresses, scope } = await listTargets(
      undefined,
      scopeOf('10.0.0.0/30', 'nas.lan', 'gone.lan'),
      resolve,
    )
    t.strictSame(addresses, ['127.0.0.1', '::1', '10.9.9.9', '10.0.0.1', '10.0.0.2'])
    t.ok(scope.entries.some(({ target }) => target === '10.9.9.9'))
  })
})

t.test('a resolved host', async t => {
  const resolve =
    (...addresses: string[]) =>
    async () =>
      addresses

  t.test('is pinned to its address when its name is in the scope', async t => {
    const target = await resolveTarget('nas.lan', scopeOf('nas.lan'), resolve('10.9.9.9'))
    t.equal(target.address, '10.9.9.9')
  })

  t.test('is refused when one of its addresses is outside', async t => {
    const scope = scopeOf('10.0.0.0/24')
    await t.rejects(resolveTarget('a.lan', scope, resolve('10.0.0.1', '192.0.2.1')), {
      code: 'forbidden',
    })
  })

  t.test('never is a metadata service, whatever the scope says', async t => {
    const scope = scopeOf('meta.lan', '169.254.0.0/16')
    await t.rejects(resolveTarget('meta.lan', scope, resolve('169.254.169.254')), {
      code: 'forbidden',
    })
  })

  t.test('has an address', async t => {
    await t.rejects(resolveTarget('gone.lan', scopeOf('gone.lan'), resolve()), {
      code: 'not_found',
    })
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
