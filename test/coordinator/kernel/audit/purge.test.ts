import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { appendAudit, createAudit, type Head } from '../../../../coordinator/kernel/audit/audit.ts'
import { readCheckpoint } from '../../../../coordinator/kernel/audit/checkpoint.ts'
import { purgeAudit } from '../../../../coordinator/kernel/audit/purge.ts'
import { verifyAudit } from '../../../../coordinator/kernel/audit/verify.ts'
import type { Store } from '../../../../coordinator/kernel/store/store.ts'
import { loneSigner } from '../../../support/lone-signer.ts'
import { temporaryStore } from '../store/temporary.ts'
import { dropGuards } from './guarding.ts'

const signer = loneSigner()
const { endorses } = signer
const NEVER = new AbortController().signal

/** A store with one row for each time. */
const storeWith = async (t: Pick<Test, 'teardown'>, times: readonly number[]) => {
  const store = await temporaryStore(t)
  const heads: Head[] = []
  for (const at of times) {
    const entry = { actor: 'a', action: 'test.run', subject: `at ${at}`, outcome: 'done' as const }
    heads.push(await store.ledger.sealed.write(trx => appendAudit(trx, { ...entry, at })))
  }
  return { store, heads }
}

const purge = (store: Store, before: number, step?: number, suspects: string[] = []) =>
  purgeAudit(
    {
      ledger: store.ledger,
      signer,
      retentionDays: 400,
      signal: NEVER,
      now: () => 9000,
      suspect: reason => suspects.push(reason),
    },
    before,
    step,
  )

const rowsOf = async ({ ledger }: Store) =>
  (await ledger.read.selectFrom('audit').selectAll().orderBy('seq').execute()).map(
    ({ seq, action }) => `${seq} ${action}`,
  )

t.test('a purge', async t => {
  t.test('removes old rows, records this in the chain, and leaves the rest verifiable', async t => {
    const { store, heads } = await storeWith(t, [1, 2, 3, 4, 5])
    t.equal(await purge(store, 4), 3)
    t.strictSame(await rowsOf(store), ['4 test.run', '5 test.run', '6 audit.purge'])
    const verdict = await verifyAudit(store.ledger, { endorses })
    t.match(verdict, {
      ok: true,
      rows: 3,
      head: { seq: 6 },
      purged: {
        seq: 3,
        hash: heads[2]?.hash,
        rows: 3,
        first_at: 1,
        last_at: 3,
        retention_days: 400,
        made_at: 9000,
        key_id: signer.publicKey,
      },
    })
    await createAudit(store).append({
      actor: 'a',
      at: 1,
      action: 'b',
      subject: 'c',
      outcome: 'done',
    })
    t.match(await verifyAudit(store.ledger, { endorses }), { ok: true, rows: 4 })
  })

  t.test('continues where the previous one ended', async t => {
    const { store } = await storeWith(t, [1, 2, 3, 4, 5])
    await purge(store, 3)
    await purge(store, 5)
    const verdict = await verifyAudit(store.ledger, { endorses })
    t.match(verdict, { ok: true, purged: { seq: 4, rows: 4, first_at: 1, last_at: 4 } })
    t.equal(await purge(store, 5), 0, 'and does nothing when there is nothing to do')
    t.equal((await rowsOf(store)).length, 3)
  })

  t.test('runs in steps, each of them complete', async t => {
    const { store } = await storeWith(t, [1, 2, 3, 4, 5, 6, 7, 8])
    t.equal(await purge(store, 8, 3), 7)
    t.match(await verifyAudit(store.ledger, { endorses }), { ok: true, rows: 4 })
    t.strictSame(
      (await rowsOf(store)).filter(row => row.endsWith('purge')),
      ['9 audit.purge', '10 audit.purge', '11 audit.purge'],
    )
  })

  t.test('leaves at least one row to continue from', async t => {
    const { store } = await storeWith(t, [1, 2])
    await purge(store, 10)
    t.strictSame(await rowsOf(store), ['3 audit.purge'])
    t.match(await verifyAudit(store.ledger, { endorses }), { ok: true, rows: 1 })
  })

  for (const [what, times, left] of [
    ['an old row behind a young one stays', [1, 9, 2], 2],
    ['a row from a clock that was set back stays while the row behind it is young', [5, 1, 9], 2],
    ['it goes when the row behind it is old', [5, 1, 6, 9], 1],
    ['a row from a clock that was set forward holds what is behind it', [99, 1, 2, 3], 4],
  ] as const)
    t.test(what, async t => {
      const { store } = await storeWith(t, times)
      await purge(store, 7)
      t.equal((await rowsOf(store)).filter(row => row.endsWith('test.run')).length, left)
    })

  t.test('remembers the previous time from one run to the next', async t => {
    const { store } = await storeWith(t, [5, 1, 1, 9])
    await purge(store, 7)
    await purge(store, 8)
    t.equal((await rowsOf(store)).filter(row => row.endsWith('test.run')).length, 3)
  })

  t.test('keeps damaged rows as evidence', async t => {
    const { store } = await storeWith(t, [1, 2, 3, 4])
    await store.ledger.sealed.write(async trx => {
      await dropGuards(trx, ['update'])
      await trx.updateTable('audit').set({ actor: 'x' }).where('seq', '=', 2).execute()
    })
    const suspects: string[] = []
    await t.rejects(purge(store, 4, 10, suspects), { code: 'audit_broken', message: /row 2/ })
    t.equal(suspects.length, 1)
    t.equal((await rowsOf(store)).length, 4)
  })
})

t.test('witness heads from before a purge are still checked', async t => {
  const { store, heads } = await storeWith(t, [1, 2, 3, 4, 5])
  await purge(store, 4)
  const verdictOn = (witness: Head | undefined) => verifyAudit(store.ledger, { witness, endorses })
  t.match(await verdictOn(heads[1]), { ok: true }, 'is taken for purged')
  t.match(await verdictOn(heads[2]), { ok: true }, 'is compared at the end of the purge')
  t.match(await verdictOn(heads[4]), { ok: true }, 'is compared when it is still there')
  const other = 'f'.repeat(64)
  for (const seq of [3, 4]) t.match(await verdictOn({ seq, hash: other }), { ok: false })
  t.match(await verdictOn({ seq: 7, hash: other }), { ok: false, reason: /cut off/ })
})

t.test('the store protects the checkpoint and the rows behind it', async t => {
  const { store } = await storeWith(t, [1, 2, 3, 4, 5])
  await purge(store, 4)
  const executeSealed = (text: string) =>
    store.ledger.sealed.write(trx => sql.raw(text).execute(trx))
  for (const [what, statement, message] of [
    ['keeps rows behind the checkpoint', 'delete from audit where seq = 4', /append-only/],
    ['keeps the checkpoint', 'delete from audit_checkpoint', /stays/],
    ['lets it not go back', 'update audit_checkpoint set seq = 2', /only goes up/],
    ['lets it not be changed', "update audit_checkpoint set hash = 'x'", /only goes up/],
  ] as const)
    await t.rejects(executeSealed(statement), { message }, what)
})

t.test('an unsigned purge fails the verification', async t => {
  const { store } = await storeWith(t, [1, 2, 3])
  await purge(store, 3)
  t.match(await verifyAudit(store.ledger), { ok: false, reason: /no purge of ours/ })
  t.match(await verifyAudit(store.ledger, { endorses: loneSigner().endorses }), { ok: false })
})

t.test('a concurrent purge does not mislead a verification', async t => {
  const { store } = await storeWith(
    t,
    Array.from({ length: 1200 }, (_, n) => n),
  )
  const [verdict] = await Promise.all([
    verifyAudit(store.ledger, { endorses }),
    purge(store, 1100, 100),
  ])
  t.match(verdict, { ok: true })
  t.equal((await readCheckpoint(store.ledger.read))?.seq, 1100)
})
