import type { Transaction } from 'kysely'
import type { Test } from 'tap'
import { SharedMinutes } from '../../coordinator/access/quota/slots/shared-minutes.ts'
import {
  createSlotExchange,
  deleteOldSlots,
} from '../../coordinator/access/quota/slots/slot-rows.ts'
import type { OpenMinute } from '../../coordinator/kernel/base/minute.ts'
import type { Store } from '../../coordinator/kernel/store/store.ts'
import type { LedgerTables } from '../../coordinator/kernel/store/tables.ts'
import { ShoalError } from '../../shared/errors.ts'
import { systemRuntime } from '../../shared/runtime.ts'
import { waitUntil } from '../support/wait-until.ts'

/** Three coordinators on one store, and a clock of it that the test sets. */
interface MinuteStores {
  stores: readonly [Store, Store, Store]
  clock: { ms: number }
}

type SharedTransaction = Transaction<LedgerTables>

const REPLICA = { version: '1', started_at: 0, unconnected_json: '[]', has_cells: 0 }

interface Coordinator {
  minutes: SharedMinutes
  /** True when the request may start. */
  start(subject: string, limit: number): Promise<boolean>
  /** Makes every further transaction fail, or no more. */
  setAway(isAway: boolean): void
  /** Transactions so far. */
  transactions(): number
}

const createCoordinator = (store: Store, replica: string, clock: { ms: number }): Coordinator => {
  let isAway = false
  let transactions = 0
  const exchange = createSlotExchange(store.ledger, replica)
  const minutes = new SharedMinutes({
    runtime: systemRuntime,
    exchange: async (...asked) => {
      transactions++
      if (isAway) throw new ShoalError('store_unavailable', 'no connection')
      return exchange(...asked)
    },
    ticks: () => clock.ms,
  })
  return {
    minutes,
    start: (subject, limit) => startOne(minutes.open, { subject, limit, clock }),
    setAway: away => {
      isAway = away
    },
    transactions: () => transactions,
  }
}

const startOne = async (
  open: OpenMinute,
  { subject, limit, clock }: { subject: string; limit: number; clock: { ms: number } },
): Promise<boolean> => {
  const minute = open(subject)
  for (;;) {
    if (minute.waitMs(limit, clock.ms) > 0) return false
    if (minute.isReady(limit, clock.ms)) break
    await minute.reserve(limit, clock.ms)
  }
  minute.add(clock.ms)
  return true
}

/** How many of so many requests at once were started. */
const countStarted = async (count: number, start: () => Promise<boolean>): Promise<number> => {
  const all = await Promise.all(Array.from({ length: count }, start))
  return all.filter(Boolean).length
}

/** The contract of minutes that several coordinators on one store count together. */
export const testSharedMinutes = (t: Test, open: (t: Test) => Promise<MinuteStores>): void => {
  const openAll = async (t: Test) => {
    const { stores, clock } = await open(t)
    const [a, b, c] = stores
    const all = [
      createCoordinator(a, 'rep_a', clock),
      createCoordinator(b, 'rep_b', clock),
      createCoordinator(c, 'rep_c', clock),
    ] as const
    return { all, clock, store: a }
  }
  const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, each) => sum + each, 0)

  t.test('admit the limit over all coordinators, less what the others hold', async t => {
    const { all } = await openAll(t)
    const started = await Promise.all(all.map(one => countStarted(60, () => one.start('key', 30))))
    t.ok(sumOf(started) <= 30, `${started}`)
    t.ok(sumOf(started) >= 24, `${started}: a request is refused one lease early at worst`)
    t.notOk(await all[0].start('key', 30), 'and no more after that')
  })

  t.test('give back what was not spent', async t => {
    const { all, clock, store } = await openAll(t)
    const [one, two] = all
    t.ok(await one.start('key', 100), 'of a lease of ten')
    t.equal(await countStarted(100, () => two.start('key', 100)), 90)
    clock.ms += 6000
    await one.minutes.close()
    const rows = await store.ledger.read.selectFrom('minute_slots').selectAll().execute()
    t.equal(sumOf(rows.filter(row => row.replica === 'rep_a').map(row => row.starts)), 1)
    t.equal(await countStarted(20, () => two.start('key', 100)), 9)
    clock.ms += 55_000
    t.notOk(await two.start('key', 100), 'a slot counts until none of it can be in the 60 s')
    clock.ms += 11_000
    await deleteOldSlots(store.ledger)
    t.equal(await countStarted(200, () => two.start('key', 100)), 100)
  })

  t.test('ask the store once for all who wait, and ahead of need for those who come', async t => {
    const { all, clock, store } = await openAll(t)
    const [one] = all
    t.equal(await countStarted(64, () => one.start('key', 1000)), 64)
    t.ok(one.transactions() <= 2, `${one.transactions()} transactions`)
    const minute = one.minutes.open('key')
    for (let n = 0; n < 30; n++) minute.add(clock.ms)
    await waitUntil('the store has granted another lease', async () => {
      const rows = await store.ledger.read.selectFrom('minute_slots').select('starts').execute()
      return sumOf(rows.map(row => row.starts)) === 194
    })
    t.ok(one.transactions() <= 3, `${one.transactions()} transactions`)
  })

  t.test('survive that a crash of the server empties the tables', async t => {
    const { all, clock, store } = await openAll(t)
    const [one, two] = all
    t.equal(await countStarted(20, () => one.start('key', 30)), 20)
    t.ok((await countStarted(30, () => two.start('key', 30))) <= 10)
    for (const table of ['minute_slots', 'minute_subjects', 'minute_birth'] as const)
      await store.ledger.free.write(trx => trx.deleteFrom(table).execute())
    clock.ms += 1000
    let isReported = false
    const early = async (subject: string) => (await two.start(subject, 30)) && !isReported
    const waiting = [countStarted(30, () => early('key')), countStarted(30, () => early('new'))]
    for (let n = 0; n < 3; n++)
      for (const each of all) {
        clock.ms += 500
        isReported ||= n === 1 && each === all[2]
        each.minutes.tend()
        await each.minutes.settle()
      }
    t.strictSame(await Promise.all(waiting), [0, 0], 'until every coordinator has reported')
    t.ok((await countStarted(30, () => all[2].start('key', 30))) <= 2, 'the counts are there again')
    t.equal(await countStarted(30, () => all[2].start('other', 30)), 30)
  })

  t.test('wait after a takeover by a standby until each coordinator has reported', async t => {
    const { all, clock, store } = await openAll(t)
    const [one, two, three] = all
    const registerAll = (trx: SharedTransaction) =>
      trx
        .insertInto('replicas')
        .values(['rep_a', 'rep_b', 'rep_c'].map(id => ({ ...REPLICA, id, until: clock.ms + 3000 })))
        .execute()
    await store.ledger.free.write(registerAll)
    for (const each of all) await each.start('key', 30)
    const served = await countStarted(30, () => one.start('key', 30))
    // the standby has none of the last changes, and one coordinator is cut off or paused
    await store.ledger.free.write(async trx => {
      await trx.deleteFrom('minute_slots').execute()
      await trx.updateTable('minute_birth').set({ history: 'before' }).execute()
    })
    const tend = async (coordinators: readonly Coordinator[], ms: number) => {
      for (let passedMs = 0; passedMs < ms; passedMs += 500) {
        clock.ms += 500
        for (const each of coordinators) {
          each.minutes.tend()
          await each.minutes.settle()
        }
      }
    }
    await tend([two, three], 4000)
    const refusal = { code: 'store_unavailable', message: /has not yet reported/ }
    await t.rejects(two.start('other', 30), refusal)
    await tend([one], 1000)
    await tend([two, three], 500)
    const more = await countStarted(30, () => two.start('key', 30))
    t.ok(served + 3 + more <= 30, `${served} + 3 before, ${more} after`)
    t.equal(await countStarted(30, () => three.start('other', 30)), 30, 'the others are served')
  })

  t.test('wait for a coordinator that is gone until its last minute has passed', async t => {
    const { all, clock, store } = await openAll(t)
    const [one, two] = all
    t.equal(await countStarted(30, () => one.start('key', 30)), 30)
    const row = { ...REPLICA, id: 'rep_a', until: clock.ms }
    await store.ledger.free.write(async trx => {
      await trx.insertInto('replicas').values(row).execute()
      await trx.deleteFrom('minute_slots').execute()
      await trx.updateTable('minute_birth').set({ history: 'before' }).execute()
    })
    const firstAfter = async (ms: number) => {
      clock.ms += ms
      two.minutes.tend()
      await two.minutes.settle()
      return two.start('key', 30).catch(error => error)
    }
    two.minutes.tend()
    await two.minutes.settle()
    t.match(await firstAfter(3500), { code: 'store_unavailable' })
    t.match(await firstAfter(56_000), { code: 'store_unavailable' }, 'all 30 are in this minute')
    t.equal(await firstAfter(20_000), true)
  })

  t.test('end with the slot of what is granted while the store is away', async t => {
    const { all, clock } = await openAll(t)
    const [one, two] = all
    t.ok(await one.start('key', 100), 'of a lease of ten')
    for (const each of [one, two]) each.setAway(true)
    clock.ms += 8000
    const refusal = { code: 'store_unavailable', retryAfterSeconds: 5 }
    await t.rejects(one.start('key', 100), refusal, 'nine are left, and nobody may count on them')
    two.setAway(false)
    clock.ms += 1000
    const started = await countStarted(200, () => two.start('key', 100).catch(() => false))
    t.ok(started <= 99, `${started} by the coordinator that was not cut off`)
  })

  t.test('start what is granted and no more while the store is away', async t => {
    const { all, clock, store } = await openAll(t)
    const [one, two, three] = all
    for (const each of all) {
      each.minutes.tend()
      await each.minutes.settle()
    }
    t.ok(await one.start('key', 120))
    t.equal(await countStarted(200, () => two.start('key', 120)), 108)
    for (const each of all) each.setAway(true)
    const startAll = async (each: Coordinator): Promise<unknown[]> => {
      const outcomes: unknown[] = []
      for (let n = 0; n < 40; n++) outcomes.push(await each.start('key', 120).catch(error => error))
      return outcomes
    }
    const served = await startAll(one)
    t.equal(served.filter(outcome => outcome === true).length, 11, 'the rest of its lease')
    const refusal = { code: 'store_unavailable', retryAfterSeconds: 5 }
    t.match(served.at(-1), refusal)
    t.match((await startAll(three))[0], refusal, 'it holds nothing, and cannot know what is left')
    for (const each of all) each.setAway(false)
    t.ok(await three.start('other', 120), 'the first request is served once it is back')
    clock.ms += 1000
    await one.minutes.close()
    const counted = store.ledger.read.selectFrom('minute_slots').where('subject', '=', 'key')
    const rows = await counted.selectAll().execute()
    t.equal(sumOf(rows.map(row => row.starts)), 120)
  })
}
