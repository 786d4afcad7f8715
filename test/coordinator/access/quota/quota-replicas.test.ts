import t, { type Test } from 'tap'
import { LeasedQuota } from '../../../../coordinator/access/quota/quota.ts'
import { createRecalls, deleteOldRecalls } from '../../../../coordinator/access/quota/recalls.ts'
import { SharedMinutes } from '../../../../coordinator/access/quota/slots/shared-minutes.ts'
import { createSlotExchange } from '../../../../coordinator/access/quota/slots/slot-rows.ts'
import { Tiers } from '../../../../coordinator/access/quota/tiers.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { temporaryFolder, temporaryStore } from '../../kernel/store/temporary.ts'

const NOW = Date.UTC(2026, 10, 20)
const KEY = { id: 'key', tier: 'free' } as const
const logger = { warn: () => {} }

interface Limits {
  month: number | 'unlimited'
  minute?: number
}

/** The quotas of three coordinators on one store, which look for recalls all the time. */
const threeQuotas = async (t: Test, { month, minute = 100_000 }: Limits) => {
  const folder = await temporaryFolder(t)
  const limits = { requests_per_month: month, requests_per_minute: minute }
  const tiers = Tiers.parse({ free: limits })
  const countReplicas = () => 3
  const all = ['a', 'b', 'c'].map(async name => {
    const store = await temporaryStore(t, folder)
    const { ledger } = store
    const exchange = createSlotExchange(ledger, `rep_${name}`)
    const minutes = new SharedMinutes({ runtime: systemRuntime, exchange })
    const recalls = createRecalls({ runtime: systemRuntime, ledger, countReplicas })
    const openMinute = minutes.open
    const options = { store, tiers, logger, countReplicas, recalls, openMinute }
    const ticks = systemRuntime.nowMs
    return { store, quota: new LeasedQuota({ ...options, ticks }) }
  })
  const [a, b, c] = (await Promise.all(all)) as [Quotas, Quotas, Quotas]
  return [a, b, c] as const
}

interface Quotas {
  store: Awaited<ReturnType<typeof temporaryStore>>
  quota: LeasedQuota
}

const returnsRecalled = (t: Test, { quota }: Quotas): void => {
  let isRunning = true
  const run = async () => {
    while (isRunning) {
      await quota.returnRecalled()
      await new Promise(setImmediate)
    }
  }
  const running = run()
  t.teardown(async () => {
    isRunning = false
    await running
  })
}

/** One request after another until one is refused; returns how many were admitted. */
const useUp = async ({ quota }: Quotas): Promise<number> => {
  for (let admitted = 0; ; admitted++) {
    const outcome = await Promise.resolve()
      .then(() => quota.admit(KEY, NOW))
      .catch(error => error.code)
    if (outcome === 'tier_exceeded') return admitted
    if (typeof outcome === 'string') throw new Error(outcome)
  }
}

const reserve = ({ store }: Quotas, reserved: number) =>
  store.ledger.free.write(trx =>
    trx.insertInto('quotas').values({ month: '2026-11', subject: 'key', reserved }).execute(),
  )

const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, each) => sum + each, 0)

t.test('the last requests of a month', async t => {
  t.test('are all reachable, though an idle coordinator holds a lease', async t => {
    const all = await threeQuotas(t, { month: 50_000 })
    const [idle, one, two] = all
    await reserve(idle, 49_000)
    await idle.quota.admit(KEY, NOW)
    const { reserved } = await idle.store.ledger.read
      .selectFrom('quotas')
      .select('reserved')
      .executeTakeFirstOrThrow()
    t.ok(reserved > 49_001, `${reserved - 49_001} of them are held`)
    for (const each of all) returnsRecalled(t, each)
    const clients = Array.from({ length: 64 }, (_, n) => useUp(n % 2 === 0 ? one : two))
    t.equal(sumOf(await Promise.all(clients)), 999)
    await deleteOldRecalls(idle.store.ledger)
  })

  t.test('are never more than the limit, and less by a lease when one was killed', async t => {
    const [killed, one, two] = await threeQuotas(t, { month: 50_000 })
    await reserve(killed, 49_000)
    await killed.quota.admit(KEY, NOW)
    for (const each of [one, two]) returnsRecalled(t, each)
    const clients = Array.from({ length: 64 }, (_, n) => useUp(n % 2 === 0 ? one : two))
    const admitted = 1 + sumOf(await Promise.all(clients))
    t.ok(admitted <= 1000 && admitted >= 1000 - 33, `${admitted} of 1000`)
  })
})

t.test('the minute of a key is one over all coordinators', async t => {
  const all = await threeQuotas(t, { month: 'unlimited', minute: 60 })
  const outcomes = await Promise.allSettled(
    Array.from({ length: 180 }, async (_, n) => (all[n % 3] as Quotas).quota.admit(KEY, NOW)),
  )
  const refused = outcomes.filter(outcome => outcome.status === 'rejected')
  const admitted = outcomes.length - refused.length
  t.ok(admitted <= 60 && admitted >= 60 - 12, `${admitted} of 60`)
  for (const { reason } of refused) t.match(reason, { code: 'rate_limited' })
  const { burst } = await all[0].quota.standing(KEY, NOW)
  t.ok(burst <= 60 - admitted, `${burst} are left`)
})

t.test(
  'a key without a monthly limit is served from its lease while the store is away',
  async t => {
    const store = await temporaryStore(t)
    const { ledger } = store
    const exchange = createSlotExchange(ledger, 'rep_a')
    let isAway = false
    const minutes = new SharedMinutes({
      runtime: systemRuntime,
      exchange: async wishes => {
        if (isAway) throw new ShoalError('store_unavailable', 'no connection')
        return exchange(wishes)
      },
    })
    const limits = { requests_per_month: 'unlimited', requests_per_minute: 100 } as const
    const quota = new LeasedQuota({
      ticks: systemRuntime.nowMs,
      store,
      tiers: Tiers.parse({ free: limits }),
      logger,
      openMinute: minutes.open,
    })
    await quota.admit(KEY, NOW)
    isAway = true
    for (let n = 0; n < 9; n++) await quota.admit(KEY, NOW)
    await t.rejects(async () => quota.admit(KEY, NOW), { code: 'store_unavailable' })
    t.strictSame(await ledger.read.selectFrom('quotas').selectAll().execute(), [])
  },
)
