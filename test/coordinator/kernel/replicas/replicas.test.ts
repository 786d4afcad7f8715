import t, { type Test } from 'tap'
import { LEAST_SUSPENSION_MS } from '../../../../coordinator/kernel/leases/elapsed.ts'
import { LEASE_MS, LIVES_MS } from '../../../../coordinator/kernel/leases/ownership.ts'
import { runInMaintenance } from '../../../../coordinator/kernel/replicas/maintenance.ts'
import { createProcessRow } from '../../../../coordinator/kernel/replicas/process-row.ts'
import { RegisteredReplicas } from '../../../../coordinator/kernel/replicas/registered-replicas.ts'
import { findOwner } from '../../../../coordinator/kernel/replicas/rendezvous.ts'
import { silent } from '../../../support/cell.ts'
import { temporaryFolder, temporaryStore } from '../store/temporary.ts'

const urlOf = (id: string): string => `https://${id}.example.org`

/** Coordinators on one store, whose clock stands still until it is moved. */
const openScene = async (t: Test) => {
  const folder = await temporaryFolder(t)
  const clock = { now: 1_000_000, suspended: 0 }
  const register = async (id: string, hasAddress = true) => {
    const address = hasAddress ? urlOf(id) : undefined
    const store = await temporaryStore(t, folder, { now: () => clock.now })
    const self = { id, name: `name-${id}`, address, version: '1.0.0' }
    const replicas = new RegisteredReplicas({
      ledger: store.ledger,
      row: createProcessRow({ ledger: store.ledger, self }),
      self,
      logger: silent,
      runtime: { now: () => clock.now + clock.suspended, nowMs: () => clock.now },
    })
    await replicas.register()
    return { store, replicas }
  }
  return { clock, register }
}

const idsOf = (replicas: RegisteredReplicas) => replicas.live().map(({ id }) => id)

t.test('coordinators on one store know each other', async t => {
  const { clock, register } = await openScene(t)
  const { replicas: first } = await register('a')
  let changes = 0
  first.onChange(() => changes++)
  const { replicas: second } = await register('b')
  await first.renew()
  t.strictSame([idsOf(first), idsOf(second), changes], [['a', 'b'], ['a', 'b'], 1])
  t.match(second.live()[0], { name: 'name-a', address: 'https://a.example.org', version: '1.0.0' })

  await t.test('and forget one that has died within three seconds', async t => {
    clock.now += 2000
    await first.renew()
    t.strictSame(idsOf(first), ['a', 'b'])
    clock.now += 1000
    await first.renew()
    t.strictSame([idsOf(first), changes], [['a'], 2])
    t.ok(first.owns('anything'))
    t.notOk(second.owns('anything'), 'the dead one owns nothing, as the others do not count on it')
  })

  await t.test('and meet it again when it was only away', async t => {
    await second.renew()
    t.strictSame(idsOf(second), ['a', 'b'])
  })

  await t.test('and forget at once one that leaves', async t => {
    await second.leave()
    await second.renew()
    await first.renew()
    t.strictSame(idsOf(first), ['a'])
  })
})

t.test(
  'a coordinator whose machine was suspended owns nothing until it has renewed its row',
  async t => {
    const { clock, register } = await openScene(t)
    const { replicas } = await register('a')
    t.ok(replicas.owns('anything'))
    clock.suspended += LIVES_MS
    t.notOk(replicas.owns('anything'), 'the monotonic clock stood still meanwhile')
    await replicas.renew()
    t.ok(replicas.owns('anything'))
  },
)

t.test('one heartbeat keeps a coordinator live and the owner of its tasks', async t => {
  const { clock, register } = await openScene(t)
  const { replicas, store } = await register('a')
  const listOwners = () => store.ledger.read.selectFrom('task_workers').selectAll().execute()
  await replicas.renew()
  t.strictSame(await listOwners(), [{ id: 'a', lease_until: clock.now + LEASE_MS }])
  clock.now += LEASE_MS - 1
  await replicas.renew()
  t.strictSame(await listOwners(), [{ id: 'a', lease_until: clock.now + LEASE_MS }])
  await replicas.leave()
  t.strictSame(await listOwners(), [], 'others take over at once what it leaves')
})

t.test('a list of cells that cannot be read does not prevent a renewal', async t => {
  const { clock, register } = await openScene(t)
  const { replicas, store } = await register('a')
  await register('b')
  await store.ledger.free.write(trx =>
    trx.updateTable('replicas').set({ unconnected_json: '{' }).where('id', '=', 'b').execute(),
  )
  clock.now += LIVES_MS - LEAST_SUSPENSION_MS - 1
  await replicas.renew()
  clock.now += LIVES_MS - LEAST_SUSPENSION_MS - 1
  t.ok(replicas.owns('anything'))
})

t.test('a coordinator lacks cells only while a running one has some', async t => {
  const { clock, register } = await openScene(t)
  const { replicas: first } = await register('a')
  t.notOk(first.lacksCells(), 'it is alone')
  const { replicas: second } = await register('b')
  await first.renew()
  t.strictSame([first.lacksCells(), second.lacksCells()], [false, false], 'nobody has cells')

  first.watchCells(() => true)
  await first.renew()
  await second.renew()
  t.strictSame([first.lacksCells(), second.lacksCells()], [false, true])
  t.ok((await register('c')).replicas.lacksCells(), 'a new one knows it at once')
  const { replicas: behindBalancer } = await register('d', false)
  t.notOk(behindBalancer.lacksCells(), 'cells reach it only while the balancer chooses it')

  second.watchCells(() => true)
  t.notOk(second.lacksCells(), 'a cell has come')
  second.watchCells(() => false)
  clock.now += 2000
  await second.renew()
  t.notOk(second.lacksCells(), 'the one with cells has not renewed its row and may be dead')
})

t.test('a store that does not answer leaves the known coordinators as they are', async t => {
  const { clock, register } = await openScene(t)
  const { replicas, store } = await register('a')
  await store.close()
  clock.now += LIVES_MS - LEAST_SUSPENSION_MS - 1
  await replicas.renew()
  t.strictSame([idsOf(replicas), replicas.owns('x')], [['a'], true])
  clock.now += 1
  t.notOk(replicas.owns('x'), 'the others count it as dead by now')
})

t.test('after an outage that all share, the others have time to renew', async t => {
  const { clock, register } = await openScene(t)
  const { replicas: first } = await register('a')
  const { replicas: second } = await register('b')
  const { replicas: third } = await register('c')
  await first.renew()
  clock.now += 60_000
  await first.renew()
  t.strictSame(idsOf(first), ['a', 'b', 'c'])
  clock.now += 1000
  await second.renew()
  await third.leave()
  await first.renew()
  t.strictSame(idsOf(first), ['a', 'b'], 'one that leaves is not waited for')
  clock.now += 2000
  await register('d')
  await first.renew()
  t.strictSame(idsOf(first), ['a', 'b', 'd'])
  clock.now += 1000
  await first.renew()
  t.strictSame(idsOf(first), ['a', 'd'], 'one that does not come back is dropped')
})

t.test('a command that needs the store for itself and coordinators exclude each other', async t => {
  const { clock, register } = await openScene(t)
  const { store } = await register('a')
  const shared = { ...store, isShared: true }
  const fails = () => t.fail('this must not run')
  await t.rejects(
    runInMaintenance(shared, async () => fails()),
    { code: 'conflict' },
  )
  clock.now += 3000
  await runInMaintenance(shared, () => t.rejects(register('b'), { code: 'conflict' }))
  await t.resolves(register('b'))
})

t.test(
  'a subject has one owner, and moves only when its owner leaves or a new one is better',
  t => {
    const members = ['rep_1', 'rep_2', 'rep_3']
    const subjects = Array.from({ length: 3000 }, (_, i) => `cell_${i}`)
    const owners = subjects.map(subject => findOwner(subject, members))
    const shares = members.map(member => owners.filter(owner => owner === member).length)
    t.ok(Math.min(...shares) > 850, `shares are even: ${shares}`)
    const after = subjects.map(subject => findOwner(subject, ['rep_3', 'rep_1']))
    const moved = subjects.filter((_, i) => owners[i] !== 'rep_2' && owners[i] !== after[i])
    t.strictSame(moved, [])
    t.equal(findOwner('anything', []), undefined)
    t.end()
  },
)
