import { sql } from 'kysely'
import t from 'tap'
import { StoreFault } from '../../../coordinator/store/faults.ts'
import { openStore } from '../../../coordinator/store/store.ts'
import { testStoreContract } from '../../contracts/store.ts'
import { openPgbouncer, pgbouncerMissing } from '../../support/pgbouncer.ts'
import { createDatabase } from '../../support/postgres.ts'

t.test('PostgreSQL behind PgBouncer in transaction mode', { skip: pgbouncerMissing }, async t => {
  testStoreContract(t, async t => {
    const pooled = await openPgbouncer(t, await createDatabase(t))
    const open = async () => {
      const store = await openStore(pooled, { pollMilliseconds: 0 })
      t.teardown(() => store.close())
      return store
    }
    return {
      stores: [await open(), await open()],
      conflict: () => new StoreFault('conflict', 'could not serialize access', undefined),
    }
  })

  t.test('a transaction leaves no setting behind for the next client', async t => {
    const store = await openStore(await openPgbouncer(t, await createDatabase(t)))
    t.teardown(() => store.close())
    for (const lane of ['sealed', 'free'] as const)
      await (store.records[lane].write as typeof store.records.free.write)(async () => {})
    const { rows } = await sql`
      select current_setting('statement_timeout') as statement_timeout,
        current_setting('lock_timeout') as lock_timeout,
        current_setting('idle_in_transaction_session_timeout') as silence,
        current_setting('synchronous_commit') as synchronous_commit`.execute(store.records.read)
    t.strictSame(rows, [
      { statement_timeout: '0', lock_timeout: '0', silence: '0', synchronous_commit: 'on' },
    ])
  })
})
