import { sql } from 'kysely'
import t from 'tap'
import type { AuditRow } from '../../../../coordinator/kernel/audit/audit.table.ts'
import { type AuditEntry, createAudit } from '../../../../coordinator/kernel/audit/audit.ts'
import { rowHash } from '../../../../coordinator/kernel/audit/chain.ts'
import { verifyAudit, verifyChain } from '../../../../coordinator/kernel/audit/verify.ts'
import type { Store } from '../../../../coordinator/kernel/store/store.ts'
import { temporaryStore } from '../store/temporary.ts'
import { dropGuards } from './guarding.ts'

const entry = (n: number): AuditEntry => ({
  at: 1000 + n,
  actor: 'key_1',
  action: 'test.run',
  subject: `thing-${n}`,
  outcome: 'done',
  tenant: 'demo',
  requestId: `r-${n}`,
  details: { n, nested: { b: 1, a: 'ä' } },
})

const createFilledAudit = async (store: Store, rows: number) => {
  const audit = createAudit(store)
  for (let n = 1; n <= rows; n++) await audit.append(entry(n))
  return audit
}

/** Does what somebody with the file in hand could do. */
const tamper = async (store: Store, ...statements: string[]): Promise<void> => {
  await store.ledger.sealed.write(async trx => {
    await dropGuards(trx)
    for (const statement of statements) await sql.raw(statement).execute(trx)
  })
}

t.test('the chain', async t => {
  t.test('an empty chain is intact', async t => {
    const verdict = await verifyAudit((await temporaryStore(t)).ledger)
    t.match(verdict, { ok: true, rows: 0, head: { seq: 0 } })
  })

  t.test('rows of one turn and of another process are linked in order', async t => {
    const store = await temporaryStore(t)
    const audit = createAudit(store)
    await Promise.all([1, 2, 3].map(n => audit.append(entry(n))))
    const head = await audit.append(entry(4))
    t.match(await verifyAudit(store.ledger), { ok: true, rows: 4, head })
    const rows = await store.ledger.read.selectFrom('audit').selectAll().orderBy('seq').execute()
    t.equal(rows[3]?.prev, rows[2]?.hash)
    t.match(rows[0], { seq: 1, actor: 'key_1', details_json: '{"n":1,"nested":{"a":"ä","b":1}}' })
  })

  t.test('a column that a newer version adds leaves the chain intact', async t => {
    const store = await temporaryStore(t)
    await createAudit(store).append(entry(1))
    await store.ledger.sealed.write(trx =>
      sql`alter table audit add column newer text default 'x'`.execute(trx),
    )
    t.match(await verifyAudit(store.ledger), { ok: true, rows: 1 })
  })

  t.test('a row is written in the lane of the change it records', async t => {
    const store = await temporaryStore(t)
    const audit = createAudit(store)
    const failing = store.ledger.sealed.write(async trx => {
      await audit.append(entry(1), trx)
      throw new RangeError('undone')
    })
    await t.rejects(failing, { message: 'undone' })
    t.match(await verifyAudit(store.ledger), { ok: true, rows: 0 })
  })

  t.test('text with a lone surrogate is recorded, and the chain stays intact', async t => {
    const store = await temporaryStore(t)
    const details = { reason: 'no \ud800', '\udc00': 1 }
    await createAudit(store).append({ ...entry(1), subject: 'half \ud800', details })
    const [row] = await store.ledger.read.selectFrom('audit').selectAll().execute()
    t.equal(row?.details_json, '{"reason":"no \ufffd","\ufffd":1}')
    t.match(await verifyAudit(store.ledger), { ok: true, rows: 1 })
  })

  t.test('more rows than one page are verified', async t => {
    const store = await temporaryStore(t)
    const audit = createAudit(store)
    await Promise.all(Array.from({ length: 1001 }, (_, n) => audit.append(entry(n))))
    t.match(await verifyAudit(store.ledger), { ok: true, rows: 1001 })
    await tamper(store, "update audit set actor = 'x' where seq = 1001")
    t.match(await verifyAudit(store.ledger), { ok: false, brokenAt: 1001 })
  })

  t.test('rows can be neither changed nor deleted', async t => {
    const store = await temporaryStore(t)
    await createFilledAudit(store, 2)
    const refused = { message: 'audit is append-only' }
    const change = store.ledger.sealed.write(trx =>
      trx.updateTable('audit').set({ actor: 'x' }).execute(),
    )
    await t.rejects(change, refused)
    const deletion = store.ledger.sealed.write(trx => trx.deleteFrom('audit').execute())
    await t.rejects(deletion, refused)
  })
})

t.test('tampering with the file is found at the first altered row', async t => {
  const columns = ['at', 'actor', 'tenant', 'action', 'subject', 'outcome', 'request_id']
  const table: [name: string, brokenAt: number, statements: string[]][] = [
    ...columns.map((column): [string, number, string[]] => [
      `an edit of ${column}`,
      2,
      [`update audit set ${column} = '9' where seq = 2`],
    ]),
    ['an edit of details', 2, ["update audit set details_json = '{}' where seq = 2"]],
    ['an edit of a hash', 2, ["update audit set hash = 'f' where seq = 2"]],
    ['a tenant that is taken away', 3, ['update audit set tenant = null where seq = 3']],
    ['a deletion', 2, ['delete from audit where seq = 2']],
    [
      'a deletion with renumbering',
      2,
      ['delete from audit where seq = 2', 'update audit set seq = seq - 1 where seq > 2'],
    ],
    ['a deletion of the first row', 1, ['delete from audit where seq = 1']],
    [
      'a swap',
      2,
      [
        'update audit set seq = 99 where seq = 2',
        'update audit set seq = 2 where seq = 3',
        'update audit set seq = 3 where seq = 99',
      ],
    ],
    [
      'an insertion between',
      2,
      [
        'update audit set seq = -seq - 1 where seq > 1',
        'update audit set seq = -seq where seq < 0',
        "insert into audit select 2, at, 'x', tenant, action, subject, outcome, details_json, request_id, prev, hash from audit where seq = 1",
      ],
    ],
    [
      'an insertion before the first row',
      1,
      [
        "insert into audit select 0, at, 'x', tenant, action, subject, outcome, details_json, request_id, prev, hash from audit where seq = 1",
      ],
    ],
  ]
  for (const [name, brokenAt, statements] of table) {
    t.test(name, async t => {
      const store = await temporaryStore(t)
      const _audit = await createFilledAudit(store, 4)
      await tamper(store, ...statements)
      t.match(await verifyAudit(store.ledger), { ok: false, brokenAt })
    })
  }
})

t.test('a witness finds what the chain alone cannot show', async t => {
  t.test('a witness detects a truncated end', async t => {
    const store = await temporaryStore(t)
    const audit = await createFilledAudit(store, 3)
    const witness = await audit.append(entry(4))
    await tamper(store, 'delete from audit where seq > 2')
    t.match(await verifyChain(store.ledger), { ok: true, rows: 2 })
    t.match(await verifyChain(store.ledger, { witness }), {
      ok: false,
      brokenAt: 3,
      reason: /cut off/,
    })
  })

  t.test('a witness detects a rewritten chain', async t => {
    const store = await temporaryStore(t)
    const audit = await createFilledAudit(store, 1)
    const witness = await audit.append(entry(2))
    const rows = await store.ledger.read.selectFrom('audit').selectAll().execute()
    const last = { ...(rows[1] as AuditRow), actor: 'somebody else' }
    const hash = rowHash(last)
    await tamper(store, `update audit set actor = '${last.actor}', hash = '${hash}' where seq = 2`)
    t.match(await verifyAudit(store.ledger), { ok: true, rows: 2 })
    t.match(await verifyAudit(store.ledger, { witness }), { ok: false, brokenAt: 2 })
  })
})
