import t from 'tap'
import { LeasedQuota } from '../../../../coordinator/access/quota/quota.ts'
import { Tiers } from '../../../../coordinator/access/quota/tiers.ts'
import type { Store } from '../../../../coordinator/kernel/store/store.ts'
import { temporaryFolder, temporaryStore } from '../../kernel/store/temporary.ts'

const NOW = Date.UTC(2026, 10, 20)
const FREE = { id: 'key', tier: 'free' } as const
const PRO = { id: 'key', tier: 'pro' } as const

/** 100 a month on free, 1,000 on pro, unlimited on enterprise; the clock stands still. */
const quotaOf = (store: Store) => {
  const limits = (requests_per_month: number) => ({
    requests_per_month,
    requests_per_minute: 100_000,
  })
  return new LeasedQuota({
    store,
    tiers: Tiers.parse({ free: limits(100), pro: limits(1000) }),
    logger: { warn: () => {} },
    ticks: () => 0,
  })
}

const exceeded = { code: 'tier_exceeded' }

t.test(
  'a key that moves to a larger tier continues at once, even when its month was used up',
  async t => {
    const quota = quotaOf(await temporaryStore(t))
    for (let n = 0; n < 100; n++) await quota.admit(FREE, NOW)
    await t.rejects(async () => quota.admit(FREE, NOW), exceeded)
    t.match(quota.standing(PRO, NOW), { limit: 1000, remaining: 900 })
    await quota.admit(PRO, NOW)
    t.match(quota.standing(PRO, NOW), { remaining: 899 })
  },
)

t.test('a key that moves to a smaller tier', async t => {
  t.test('keeps its usage and gets no request past the limit', async t => {
    const store = await temporaryStore(t)
    const quota = quotaOf(store)
    for (let n = 0; n < 95; n++) await quota.admit(PRO, NOW)
    t.match(quota.standing(FREE, NOW), { limit: 100, remaining: 5 })
    for (let n = 0; n < 5; n++) await quota.admit(FREE, NOW)
    await t.rejects(async () => quota.admit(FREE, NOW), exceeded)
    t.match(quota.standing(FREE, NOW), { remaining: 0 })
  })

  t.test('does not spend a lease taken under the larger limit', async t => {
    const store = await temporaryStore(t)
    const quota = quotaOf(store)
    for (let n = 0; n < 101; n++) await quota.admit(PRO, NOW)
    t.match(quota.standing(PRO, NOW), { remaining: 899 })
    t.match(quota.standing(FREE, NOW), { remaining: 0 })
    await t.rejects(async () => quota.admit(FREE, NOW), exceeded)
    const { reserved } = await store.ledger.read
      .selectFrom('quotas')
      .select('reserved')
      .executeTakeFirstOrThrow()
    t.equal(reserved, 101, 'the rest of the lease was given back')
  })

  t.test('spends no more, whatever another process has leased since', async t => {
    const folder = await temporaryFolder(t)
    const one = quotaOf(await temporaryStore(t, folder))
    const two = quotaOf(await temporaryStore(t, folder))
    await one.admit(PRO, NOW)
    for (let n = 0; n < 120; n++) await two.admit(PRO, NOW)
    await t.rejects(async () => one.admit(FREE, NOW), exceeded)
  })
})
