import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import fc from 'fast-check'
import t from 'tap'
import { Calendar, monthAt, monthBefore } from '../../../../coordinator/access/quota/month.ts'
import { leaseSize } from '../../../../coordinator/access/quota/month-ledger.ts'
import { LeasedQuota } from '../../../../coordinator/access/quota/quota.ts'
import { Tiers } from '../../../../coordinator/access/quota/tiers.ts'
import { MinuteWindow } from '../../../../coordinator/kernel/base/minute-window.ts'
import { withChangeHook } from '../../../../coordinator/kernel/store/change-hook.ts'
import type { Store } from '../../../../coordinator/kernel/store/store.ts'
import { databaseFor } from '../../../support/postgres.ts'
import { notInFiles, temporaryFolder, temporaryStore } from '../../kernel/store/temporary.ts'

type QuotaOptions = ConstructorParameters<typeof LeasedQuota>[0]

const NOW = Date.UTC(2026, 10, 20)
const DECEMBER = Date.UTC(2026, 11, 1)
const KEY = { id: 'key', tier: 'free' } as const
const logger = { warn: () => {} }

/** A quota of so many requests a month and a minute, whose minute clock stands still. */
const withLimits = (
  store: Store,
  month: number | 'unlimited',
  minute = 100_000,
  options: Partial<QuotaOptions> = {},
) => {
  const limits = { requests_per_month: month, requests_per_minute: minute }
  const tiers = Tiers.parse({ free: limits, pro: limits, anonymous: limits })
  return new LeasedQuota({ store, tiers, logger, ticks: () => 0, ...options })
}

const readReserved = async ({ ledger }: Store) => {
  const rows = await ledger.read.selectFrom('quotas').selectAll().orderBy('month').execute()
  return Object.fromEntries(rows.map(row => [`${row.month} ${row.subject}`, row.reserved]))
}

/** How many of so many calls at once were admitted, and the codes of the others. */
const burst = async (calls: (() => unknown)[]) => {
  const outcomes = await Promise.allSettled(calls.map(async call => call()))
  const codes = outcomes.flatMap(outcome =>
    outcome.status === 'rejected' ? [outcome.reason.code] : [],
  )
  return { admitted: outcomes.length - codes.length, codes: [...new Set(codes)] }
}

const times = <R>(count: number, call: () => R): (() => R)[] => Array(count).fill(call)

t.test('tiers', async t => {
  t.test('are those of the specification by default', async t => {
    t.strictSame(Tiers.parse(undefined), {
      free: {
        requests_per_month: 1000,
        requests_per_minute: 10,
        max_tokens: 2048,
        price_eur_per_month: 0,
      },
      pro: {
        requests_per_month: 50_000,
        requests_per_minute: 100,
        max_tokens: 8192,
        price_eur_per_month: 29,
      },
      enterprise: {
        requests_per_month: 'unlimited',
        requests_per_minute: 500,
        max_tokens: 128_000,
        price_eur_per_month: 149,
      },
      anonymous: { requests_per_month: 1000, requests_per_minute: 30 },
    })
  })

  t.test('keep their other values when one is set', async t => {
    const tiers = Tiers.parse({ pro: { requests_per_minute: 60 } })
    t.match(tiers.pro, { requests_per_minute: 60, requests_per_month: 50_000 })
    t.throws(() => Tiers.parse({ pro: { requests_per_minut: 60 } }))
  })
})

t.test('the month', async t => {
  t.test('ends exactly at its limit', async t => {
    const store = await temporaryStore(t)
    const quota = withLimits(store, 25)
    for (let n = 0; n < 25; n++) await quota.admit(KEY, NOW)
    await t.rejects(async () => quota.admit(KEY, NOW), {
      code: 'tier_exceeded',
      message: /2026-12-01T00:00/,
    })
    t.match(quota.standing(KEY, NOW), { limit: 25, remaining: 0 })
  })

  for (const count of [1, 2, 3])
    t.test(`admits exactly the remainder to 256 callers over ${count} stores`, async t => {
      const folder = await temporaryFolder(t)
      const first = withLimits(await temporaryStore(t, folder), 1000)
      for (let n = 0; n < 900; n++) await first.admit(KEY, NOW)
      await first.close()
      const calls: (() => unknown)[] = []
      for (let n = 0; n < count; n++) {
        const quota = withLimits(await temporaryStore(t, folder), 1000)
        calls.push(...times(Math.ceil(256 / count), () => quota.admit(KEY, NOW)))
      }
      t.strictSame(await burst(calls), { admitted: 100, codes: ['tier_exceeded'] })
    })

  t.test('admits exactly the limit over two processes', async t => {
    const folder = await temporaryFolder(t)
    const script = join(import.meta.dirname, 'quota-child.ts')
    const place = JSON.stringify(notInFiles ? await databaseFor(folder) : folder)
    const args = [script, place, '300', '256', String(NOW)]
    await (await temporaryStore(t, folder)).ledger.sealed.write(async () => {})
    const children = [1, 2].map(() => {
      const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
      const ended = once(child, 'exit')
      t.teardown(() => child.kill('SIGKILL'))
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
      return { child, ended, lines }
    })
    for (const { lines } of children) t.equal((await lines.next()).value, 'ready')
    for (const { child } of children) child.stdin.write('go\n')
    const answers = await Promise.all(children.map(async ({ lines }) => (await lines.next()).value))
    const admitted = answers.map(text => JSON.parse(text ?? '{}').admitted)
    t.equal(admitted[0] + admitted[1], 300, `${admitted}`)
    await Promise.all(children.map(({ ended }) => ended))
  })

  t.test('needs one read and one write for all waiting requests', async t => {
    const store = await temporaryStore(t)
    let writes = 0
    const ledger = withChangeHook(store.ledger, (work, commit) => {
      writes++
      return commit(work)
    })
    const quota = withLimits({ ...store, ledger }, 1000)
    t.match(await burst(times(64, () => quota.admit(KEY, NOW))), { admitted: 64 })
    t.equal(writes, 1)
    t.strictSame(await readReserved(store), { '2026-11 key': 64 })
  })

  t.test('takes no more from the ledger than the minute allows', async t => {
    const store = await temporaryStore(t)
    const quota = withLimits(store, 100, 5)
    t.strictSame(await burst(times(64, () => quota.admit(KEY, NOW))), {
      admitted: 5,
      codes: ['rate_limited'],
    })
    t.strictSame(await readReserved(store), { '2026-11 key': 5 })
  })

  t.test('is spent from memory while the lease has room', async t => {
    const store = await temporaryStore(t)
    const quota = withLimits(store, 1000)
    t.ok(quota.admit(KEY, NOW) instanceof Promise)
    await quota.admit(KEY, NOW)
    t.notOk(quota.admit(KEY, NOW) instanceof Promise)
    t.match(quota.standing(KEY, NOW), { limit: 1000, remaining: 997 })
    t.strictSame(await readReserved(store), { '2026-11 key': 10 })
  })

  t.test('regains each refund once', async t => {
    const quota = withLimits(await temporaryStore(t), 2)
    const first = await quota.admit(KEY, NOW)
    await quota.admit(KEY, NOW)
    first.refund()
    first.refund()
    await quota.admit(KEY, NOW)
    await t.rejects(async () => quota.admit(KEY, NOW), { code: 'tier_exceeded' })
  })

  t.test('regains unspent leases at close, and after a minute without use', async t => {
    const store = await temporaryStore(t)
    let ticks = 0
    const quota = withLimits(store, 1000, 100_000, { ticks: () => ticks })
    await quota.admit(KEY, NOW)
    await quota.admit({ id: 'other', tier: 'free' }, NOW)
    ticks = 59_999
    await quota.sweep()
    t.strictSame(await readReserved(store), { '2026-11 key': 10, '2026-11 other': 10 })
    quota.standing(KEY, NOW)
    ticks = 60_000
    await quota.sweep()
    t.strictSame(await readReserved(store), { '2026-11 key': 10, '2026-11 other': 1 })
    await quota.close()
    t.strictSame(await readReserved(store), { '2026-11 key': 1, '2026-11 other': 1 })
  })

  t.test('keeps a lease that could not be returned', async t => {
    const store = await temporaryStore(t)
    let fails = false
    const ledger = withChangeHook(store.ledger, async (work, commit) => {
      if (fails) throw new RangeError('full')
      return commit(work)
    })
    const quota = withLimits({ ...store, ledger }, 1000)
    await quota.admit(KEY, NOW)
    fails = true
    await t.rejects(quota.close(), { message: 'full' })
    t.notOk(quota.admit(KEY, NOW) instanceof Promise)
    t.match(quota.standing(KEY, NOW), { remaining: 998 })
    fails = false
    await quota.close()
    t.strictSame(await readReserved(store), { '2026-11 key': 2 })
  })

  t.test('fails for all waiting requests when the ledger does, and recovers after it', async t => {
    const store = await temporaryStore(t)
    let fails = true
    const ledger = withChangeHook(store.ledger, async (work, commit) => {
      if (fails) throw new RangeError('full')
      return commit(work)
    })
    const quota = withLimits({ ...store, ledger }, 1000)
    t.match(await burst(times(3, () => quota.admit(KEY, NOW))), { admitted: 0 })
    fails = false
    t.match(await burst(times(3, () => quota.admit(KEY, NOW))), { admitted: 3 })
    t.match(quota.standing(KEY, NOW), { remaining: 997 })
  })

  t.test('is checked again after a second when it is used up', async t => {
    const folder = await temporaryFolder(t)
    let ticks = 0
    const options = { ticks: () => ticks }
    const one = withLimits(await temporaryStore(t, folder), 200, 1000, options)
    const two = withLimits(await temporaryStore(t, folder), 200, 1000, options)
    await one.admit(KEY, NOW)
    await burst(times(198, () => two.admit(KEY, NOW)))
    await t.rejects(async () => two.admit(KEY, NOW), { code: 'tier_exceeded' })
    await one.close()
    ticks = 999
    await t.rejects(async () => two.admit(KEY, NOW), { code: 'tier_exceeded' })
    ticks = 1000
    t.ok(await two.admit(KEY, NOW))
    await t.rejects(async () => two.admit(KEY, NOW), { code: 'tier_exceeded' })
  })

  t.test('restarts at 00:00 UTC on the first, and not again when the clock goes back', async t => {
    const folder = await temporaryFolder(t)
    const store = await temporaryStore(t, folder)
    const quota = withLimits(store, 2)
    const old = await quota.admit(KEY, DECEMBER - 1)
    await quota.admit(KEY, DECEMBER - 1)
    await t.rejects(async () => quota.admit(KEY, DECEMBER - 1), { code: 'tier_exceeded' })
    await quota.admit(KEY, DECEMBER)
    old.refund()
    t.match(quota.standing(KEY, DECEMBER), {
      remaining: 1,
      resetSeconds: Date.UTC(2027, 0) / 1000,
    })
    await quota.admit(KEY, DECEMBER - 1)
    await t.rejects(async () => quota.admit(KEY, DECEMBER - 1), { code: 'tier_exceeded' })
    t.strictSame(await readReserved(store), { '2026-11 key': 2, '2026-12 key': 2 })

    const restarted = withLimits(await temporaryStore(t, folder), 2)
    await t.rejects(async () => restarted.admit(KEY, NOW), { code: 'tier_exceeded' })
    t.match(await restarted.standing({ id: 'new', tier: 'free' }, NOW), {
      resetSeconds: Date.UTC(2027, 0) / 1000,
    })
  })

  t.test('is deleted from the ledger two months later', async t => {
    const store = await temporaryStore(t)
    const quota = withLimits(store, 2)
    for (const month of [10, 11, 12]) {
      await quota.admit(KEY, Date.UTC(2026, month, 3))
      await quota.sweep()
    }
    t.strictSame(await readReserved(store), { '2026-12 key': 1, '2027-01 key': 1 })
  })

  t.test('needs no ledger when it is unlimited', async t => {
    const store = await temporaryStore(t)
    const quota = withLimits(store, 'unlimited', 3)
    t.match(quota.standing(KEY, NOW), { limit: 'unlimited', remaining: 'unlimited', burst: 3 })
    const admission = quota.admit(KEY, NOW)
    t.notOk(admission instanceof Promise)
    t.match(quota.standing(KEY, NOW), { burst: 2 })
    if (!(admission instanceof Promise)) admission.refund()
    t.match(quota.standing(KEY, NOW), { burst: 3 })
    t.strictSame(await readReserved(store), {})
  })

  t.test('admits nothing when its limit is zero', async t => {
    const quota = withLimits(await temporaryStore(t), 0)
    await t.rejects(async () => quota.admit(KEY, NOW), { code: 'tier_exceeded' })
  })
})

t.test('the minute', async t => {
  t.test('refuses with the seconds to wait, without cost to the month', async t => {
    let ticks = 0
    const quota = withLimits(await temporaryStore(t), 1000, 2, { ticks: () => ticks })
    await quota.admit(KEY, NOW)
    ticks = 20_500
    await quota.admit(KEY, NOW)
    for (const [at, retryAfterSeconds] of [
      [20_500, 40],
      [59_000, 1],
      [59_999, 1],
    ] as const) {
      ticks = at
      await t.rejects(async () => quota.admit(KEY, NOW), {
        code: 'rate_limited',
        retryAfterSeconds,
      })
    }
    t.match(quota.standing(KEY, NOW), { remaining: 998, burst: 0, minuteLimit: 2 })
    ticks = 60_000
    t.match(quota.standing(KEY, NOW), { burst: 1 })
    t.ok(quota.admit(KEY, NOW))
  })

  t.test('is independent of changes to the wall clock', async t => {
    const quota = withLimits(await temporaryStore(t), 1000, 1)
    await quota.admit(KEY, NOW)
    for (const now of [NOW - 3_600_000, NOW + 3_600_000])
      await t.rejects(async () => quota.admit(KEY, now), { code: 'rate_limited' })
  })

  t.test('never starts more than its limit in any 60 s, and no fewer than possible', async t => {
    const step = fc.record({ pause: fc.integer({ min: 0, max: 20_000 }), refund: fc.boolean() })
    const property = fc.property(
      fc.array(step, { maxLength: 200 }),
      fc.integer({ min: 1, max: 8 }),
      (steps, limit) => {
        const window = new MinuteWindow()
        let starts: number[] = []
        let ticks = 0
        for (const { pause, refund } of steps) {
          ticks += pause
          const running = starts.filter(start => start > ticks - 60_000)
          if (window.room(limit, ticks) !== limit - running.length) return false
          const waitMs = window.waitMs(limit, ticks)
          if (waitMs !== (running.length < limit ? 0 : (running[0] ?? 0) + 60_000 - ticks))
            return false
          if (waitMs > 0) continue
          window.add(ticks)
          if (refund) window.remove(ticks)
          else starts = [...running, ticks]
        }
        return true
      },
    )
    t.notOk(fc.check(property, { numRuns: 300 }).failed)
  })

  t.test('waits for room under a lowered limit', async t => {
    const window = new MinuteWindow()
    for (const start of [0, 10, 20, 30]) window.add(start)
    t.equal(window.room(2, 40), 0)
    t.equal(window.waitMs(2, 40), 60_020 - 40)
    t.equal(window.waitMs(2, 60_020), 0)
  })
})

t.test('the memory of the quota is bounded', async t => {
  t.test('an evicted entry returns its lease; addresses do not evict keys', async t => {
    const store = await temporaryStore(t)
    const quota = withLimits(store, 1000, 100, { capacity: 2 })
    await quota.admit(KEY, NOW)
    for (const n of [1, 2, 3]) await quota.admit({ id: `a${n}`, tier: 'anonymous' }, NOW)
    await store.ledger.sealed.write(async () => {})
    t.match(await readReserved(store), { '2026-11 a1': 1, '2026-11 a2': 10, '2026-11 a3': 10 })
    t.notOk(quota.admit(KEY, NOW) instanceof Promise, 'the key kept its lease')
  })

  t.test('a refund after an eviction is not lost', async t => {
    const store = await temporaryStore(t)
    const quota = withLimits(store, 1000, 100, { capacity: 1 })
    const admission = await quota.admit(KEY, NOW)
    await quota.admit({ id: 'other', tier: 'free' }, NOW)
    admission.refund()
    await store.ledger.sealed.write(async () => {})
    t.match(await readReserved(store), { '2026-11 key': 0 })
  })
})

t.test('the calendar', async t => {
  for (const [at, name, end] of [
    [Date.UTC(2026, 10, 30, 23, 59, 59, 999), '2026-11', Date.UTC(2026, 11)],
    [Date.UTC(2026, 11, 1), '2026-12', Date.UTC(2027, 0)],
    [Date.UTC(2028, 1, 29), '2028-02', Date.UTC(2028, 2)],
  ] as const)
    t.test(`${new Date(at).toISOString()} is in ${name}`, async t => {
      t.strictSame(monthAt(at), { name, endsAt: end })
    })

  t.test('only moves forward', async t => {
    const calendar = new Calendar()
    t.equal(calendar.advance(NOW).name, '2026-11')
    t.equal(calendar.advance(0).name, '2026-11')
    t.equal(calendar.advanceTo('2027-01').name, '2027-01')
    t.equal(calendar.advanceTo('').name, '2027-01')
    t.equal(calendar.advance(DECEMBER).name, '2027-01')
    t.equal(monthBefore(calendar.month), '2026-12')
  })
})

t.test('a lease is small, and smaller towards the limit and among several processes', async t => {
  for (const [limit, reserved, waiting, replicas, size] of [
    [50_000, 0, 1, 1, 100],
    [1000, 0, 1, 1, 10],
    [1000, 900, 1, 1, 10],
    [1000, 950, 1, 1, 5],
    [1000, 981, 1, 1, 1],
    [1000, 999, 1, 1, 1],
    [1000, 1000, 1, 1, 0],
    [1000, 2000, 1, 1, 0],
    [1000, 0, 64, 1, 64],
    [1000, 990, 64, 1, 10],
    [10, 0, 1, 1, 1],
    [0, 0, 1, 1, 0],
    [50_000, 0, 1, 3, 100],
    [50_000, 49_100, 1, 3, 30],
    [50_000, 49_980, 1, 3, 1],
  ] as const)
    t.equal(
      leaseSize({ limit, reserved, waiting, replicas }),
      size,
      `${limit} ${reserved} ${waiting} ${replicas}`,
    )
})
