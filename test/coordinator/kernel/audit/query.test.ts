import t from 'tap'
import { createAudit } from '../../../../coordinator/kernel/audit/audit.ts'
import { type AuditFilter, queryAudit } from '../../../../coordinator/kernel/audit/query.ts'
import { temporaryStore } from '../store/temporary.ts'

t.test('a search in small steps finds the same as a search in one step', async t => {
  const store = await temporaryStore(t)
  const audit = createAudit(store)
  for (let n = 1; n <= 23; n++)
    await audit.append({
      actor: n % 5 === 0 ? 'b' : 'a',
      action: `test.${n % 3}`,
      subject: `s${n}`,
      tenant: n % 4 === 0 ? 'other' : 'own',
      outcome: 'done',
      at: n,
    })
  const filters: Partial<AuditFilter>[] = [
    {},
    { actor: 'b' },
    { action: 'test.1' },
    { action: 'test.*' },
    { subject: 's1' },
    { subject: 'none' },
    { from: 5, to: 9 },
  ]
  const [found, expected]: [unknown[], unknown[]] = [[], []]
  for (const order of ['newest', 'oldest'] as const)
    for (const filter of filters)
      for (const limit of [1, 3, 100])
        for (const after of [undefined, 0, 1, 11, 23, 99]) {
          const asked = { ...filter, order, limit, ...(after === undefined ? {} : { after }) }
          const seqs = async (step: number) =>
            (await queryAudit(store.ledger, asked, { tenantId: 'own' }, step)).map(r => r.seq)
          found.push([asked, await seqs(4)])
          expected.push([asked, await seqs(1000)])
        }
  t.strictSame(found, expected)
  const all = await queryAudit(
    store.ledger,
    { order: 'newest', limit: 100 },
    { tenantId: 'own' },
    4,
  )
  t.strictSame(
    all.map(({ seq }) => seq),
    [23, 22, 21, 19, 18, 17, 15, 14, 13, 11, 10, 9, 7, 6, 5, 3, 2, 1],
  )
  const none = await temporaryStore(t)
  t.strictSame(await queryAudit(none.ledger, { order: 'oldest', limit: 9 }, 'all', 4), [])
})

t.test('a long search lets other work run in between', async t => {
  const store = await temporaryStore(t)
  const audit = createAudit(store)
  for (let n = 1; n <= 50; n++)
    await audit.append({ actor: 'a', at: n, action: 'test.run', subject: 's', outcome: 'done' })
  let turns = 0
  let over = false
  const count = (): void => {
    turns++
    if (!over) setImmediate(count)
  }
  setImmediate(count)
  await queryAudit(store.ledger, { actor: 'none', order: 'newest', limit: 1 }, 'all', 2)
  over = true
  t.ok(turns >= 25, `${turns} turns`)
})
