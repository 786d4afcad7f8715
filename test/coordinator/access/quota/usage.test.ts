import t from 'tap'
import { createUsage, type NewUsage } from '../../../../coordinator/access/quota/usage.ts'
import { withChangeHook } from '../../../../coordinator/kernel/store/change-hook.ts'
import { temporaryStore } from '../../kernel/store/temporary.ts'

const row = (requestId: string, other: Partial<NewUsage> = {}): NewUsage => ({
  at: 1000,
  key_id: 'k1',
  tenant_id: 'one',
  model: 'model-a:7b',
  cell_id: 'cell_1',
  route: '/v1/chat/completions',
  status: 'ok',
  prompt_tokens: 3,
  completion_tokens: 5,
  cached_tokens: 1,
  duration_ms: 20,
  request_id: requestId,
  ...other,
})

const EVER = { from: 0, to: 1e15 }

t.test('usage', async t => {
  t.test('is present once acknowledged, even when a client repeats its request id', async t => {
    const store = await temporaryStore(t)
    const usage = createUsage(store)
    await usage.record(row('r1'))
    await usage.record(row('r1', { status: 'failed' }))
    const rows = await store.records.read
      .selectFrom('usage')
      .selectAll()
      .orderBy('status')
      .execute()
    t.match(rows, [row('r1', { status: 'failed' }), row('r1')])
  })

  t.test('that is recorded together is one complete transaction', async t => {
    const store = await temporaryStore(t)
    let writes = 0
    const records = withChangeHook(store.records, (work, commit) => {
      writes++
      return commit(work)
    })
    const usage = createUsage({ ...store, records })
    await usage.recordRows(
      Array.from({ length: 200 }, (_, n) => ({ id: `use_${n}`, ...row(`r${n}`) })),
    )
    t.equal(writes, 1)
    t.match(await usage.sums(EVER), { requests: 200, promptTokens: 600, completionTokens: 1000 })
  })

  t.test('counts tokens but no request for an answer that the cascade has given up', async t => {
    const usage = createUsage(await temporaryStore(t))
    await usage.record(row('r1', { status: 'discarded', model: 'model-b:3b' }))
    await usage.record(row('r1'))
    t.match(await usage.sums(EVER), { requests: 1, promptTokens: 6, completionTokens: 10 })
  })

  t.test('is summed by key, tenant and time', async t => {
    const usage = createUsage(await temporaryStore(t))
    await usage.record(row('r1'))
    await usage.record(row('r2', { key_id: 'k2', at: 2000 }))
    await usage.record(row('r3', { tenant_id: 'two', at: 3000, completion_tokens: null }))
    for (const [filter, requests, completionTokens] of [
      [{}, 3, 10],
      [{ keyId: 'k1' }, 2, 5],
      [{ tenantId: 'two' }, 1, 0],
      [{ keyId: 'k2', tenantId: 'two' }, 0, 0],
      [{ from: 2000, to: 3000 }, 1, 5],
    ] as const)
      t.match(await usage.sums({ ...EVER, ...filter }), { requests, completionTokens })
  })

  t.test('with fractional numbers is refused and does not affect other rows', async t => {
    const usage = createUsage(await temporaryStore(t))
    const wrong = [-1, 0.5, Number.NaN, 2 ** 60].map(prompt_tokens =>
      usage.record(row('bad', { prompt_tokens })),
    )
    const good = usage.record(row('good'))
    for (const refused of wrong) await t.rejects(refused, TypeError)
    await good
    t.match(await usage.sums(EVER), { requests: 1 })
  })

  t.test('that cannot be written fails, and later rows are written', async t => {
    const store = await temporaryStore(t)
    let fails = true
    const records = withChangeHook(store.records, async (work, commit) => {
      if (fails) throw new RangeError('full')
      return commit(work)
    })
    const usage = createUsage({ ...store, records })
    const lost = [usage.record(row('r1')), usage.record(row('r2'))]
    for (const record of lost) await t.rejects(record, { message: 'full' })
    fails = false
    await usage.record(row('r3'))
    t.match(await usage.sums(EVER), { requests: 1 })
  })
})
