import { sql } from 'kysely'
import t from 'tap'
import { createElapsedMs } from '../../../../coordinator/kernel/leases/elapsed.ts'
import { createLeases } from '../../../../coordinator/kernel/leases/leases.ts'
import { isLeft, LEASE_MS } from '../../../../coordinator/kernel/leases/ownership.ts'
import { testLeases } from '../../../contracts/lease.ts'
import { newOwnership } from '../../../support/replicas.ts'
import { temporaryFolder, temporaryStore } from '../store/temporary.ts'

t.test('leases in SQLite meet the contract', async t => {
  testLeases(t, async t => {
    const folder = await temporaryFolder(t)
    let now = 1_000_000
    const holder = async () => {
      const { ledger } = await temporaryStore(t, folder, { now: () => now })
      return { ledger, leases: createLeases(ledger) }
    }
    return {
      holders: [await holder(), await holder()],
      advance: milliseconds => {
        now += milliseconds
      },
    }
  })
})

t.test('elapsed time includes a suspension, and never goes back', async t => {
  const clocks = { wallMs: 5_000_000, monotonicMs: 10 }
  const elapsedMs = createElapsedMs({
    now: () => clocks.wallMs,
    nowMs: () => clocks.monotonicMs,
  })
  const pass = (wallMs: number, monotonicMs: number) => {
    clocks.wallMs += wallMs
    clocks.monotonicMs += monotonicMs
    return elapsedMs()
  }
  t.equal(elapsedMs(), 10)
  t.equal(pass(1000, 1000), 1010)
  t.equal(pass(61_000, 1000), 62_010, 'suspended for a minute')
  t.equal(pass(-3_600_000, 1000), 63_010, 'the system clock is set back')
  t.equal(pass(61_000, 1000), 124_010, 'and suspended again')
})

t.test('a process renews its lease only while it owns something', async t => {
  const clock = { now: 1_000_000 }
  const { ledger } = await temporaryStore(t, undefined, { now: () => clock.now })
  const owner = newOwnership(ledger)
  let hasWork = false
  owner.watch(() => hasWork)
  const listOwners = () => ledger.read.selectFrom('task_workers').selectAll().execute()
  await owner.renew()
  t.strictSame(await listOwners(), [])
  hasWork = true
  await owner.renew()
  t.strictSame(await listOwners(), [{ id: owner.id, lease_until: clock.now + LEASE_MS }])
})

t.test('other processes may take what a process owns once its lease has expired', async t => {
  const clock = { now: 1_000_000 }
  const { ledger } = await temporaryStore(t, undefined, { now: () => clock.now })
  const [one, two] = [newOwnership(ledger), newOwnership(ledger)]
  const isLeftTo = async ({ id }: { id: string }) => {
    const { rows } = await sql<{ left: number }>`
      select ${isLeft('owner', { id, now: clock.now })} as left
      from (select ${one.id} as owner) as owned`.execute(ledger.read)
    return rows[0]?.left === 1
  }
  await ledger.free.write(one.keep)
  t.strictSame([await isLeftTo(one), await isLeftTo(two)], [true, false])
  clock.now += LEASE_MS
  t.strictSame([await isLeftTo(one), await isLeftTo(two)], [true, true])
  await ledger.free.write(one.keep)
  t.strictSame(await isLeftTo(two), false, 'it came back before anybody took something')
  await ledger.free.write(one.end)
  t.ok(await isLeftTo(two))
})
