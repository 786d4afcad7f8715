import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { createElapsedMs } from '../../../../coordinator/kernel/leases/elapsed.ts'
import { createLeases } from '../../../../coordinator/kernel/leases/leases.ts'
import { isLeft, LEASE_MS, LIVES_MS } from '../../../../coordinator/kernel/leases/ownership.ts'
import {
  createProcessRow,
  type ProcessRow,
} from '../../../../coordinator/kernel/replicas/process-row.ts'
import { testLeases } from '../../../contracts/lease.ts'
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

/** Scene of two processes on one store, and a check whether one may take what another owns. */
const ownersScene = async (t: Test) => {
  const clock = { now: 1_000_000 }
  const { ledger } = await temporaryStore(t, undefined, { now: () => clock.now })
  const self = { name: undefined, address: undefined, version: '1' }
  const open = (id: string) => createProcessRow({ ledger, self: { id, ...self } })
  const isLeftTo = async ({ id }: { id: string }, owner: string) => {
    const { rows } = await sql<{ left: number }>`
      select ${isLeft('owner', { id, now: clock.now })} as left
      from (select ${owner} as owner) as owned`.execute(ledger.read)
    return rows[0]?.left === 1
  }
  const beat = (row: ProcessRow) => ledger.free.write(trx => row.add(trx, false))
  return { clock, ledger, one: open('rep_1'), two: open('rep_2'), isLeftTo, beat }
}

t.test('other processes may take what a process owns once its lease has expired', async t => {
  const { clock, ledger, one, two, isLeftTo, beat } = await ownersScene(t)
  const ask = async () => [await isLeftTo(one, one.id), await isLeftTo(two, one.id)]
  await beat(one)
  t.strictSame(await ask(), [true, false])
  clock.now += LEASE_MS - 1
  t.strictSame(await ask(), [true, false])
  clock.now += 1
  t.strictSame(await ask(), [true, true])
  await ledger.free.write(one.keep)
  t.strictSame(await ask(), [true, false], 'it came back before anybody took something')
  await ledger.free.write(one.remove)
  t.strictSame(await ask(), [true, true])
})

t.test('a process takes nothing while its row is missing', async t => {
  const { clock, ledger, one, two, isLeftTo, beat } = await ownersScene(t)
  await beat(one)
  clock.now += 3_600_000
  await ledger.free.write(trx => trx.deleteFrom('replicas').where('id', '=', one.id).execute())
  const gone = { code: 'store_unavailable', retryAfterSeconds: 1 }
  await t.rejects(ledger.free.write(one.keep), gone)
  t.ok(await isLeftTo(two, one.id), 'so another process may take its work')
  t.notOk(await ledger.free.write(trx => one.renew(trx, false)), 'the heartbeat notices it')
  await beat(one)
  await ledger.free.write(one.keep)
  t.notOk(await isLeftTo(two, one.id))
})

t.test('coordinators before 0.1.0 and newer ones respect the leases of each other', async t => {
  const { clock, ledger, one, isLeftTo, beat } = await ownersScene(t)
  const older = { id: 'wrk_older', lease_until: clock.now + LEASE_MS }
  await ledger.free.write(trx => trx.insertInto('task_workers').values(older).execute())
  t.notOk(await isLeftTo(one, older.id), 'an older one has no other row')
  await beat(one)
  clock.now += LIVES_MS
  await ledger.free.write(one.keep)
  const row = await ledger.read
    .selectFrom('task_workers')
    .select('lease_until')
    .where('id', '=', one.id)
    .executeTakeFirst()
  t.equal(row?.lease_until, clock.now + LEASE_MS, 'the only place where an older one looks')
  clock.now = older.lease_until
  t.ok(await isLeftTo(one, older.id))
})
