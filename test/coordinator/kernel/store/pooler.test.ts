import { sql } from 'kysely'
import t from 'tap'
import { StoreFault } from '../../../../coordinator/kernel/store/faults.ts'
import { Statements } from '../../../../coordinator/kernel/store/postgres/statements.ts'
import { openStore } from '../../../../coordinator/kernel/store/store.ts'
import { testStoreContract } from '../../../contracts/store.ts'
import { openPgbouncer, pgbouncerMissing, pgbouncerPrepares } from '../../../support/pgbouncer.ts'
import { createDatabase } from '../../../support/postgres.ts'

t.test('a prepared statement has the same name in every process, and no other has it', async t => {
  const nameIn = (texts: readonly string[]) => {
    const statements = new Statements()
    for (const text of texts) for (let n = 0; n < 3; n++) statements.nameOf(text)
    return statements.nameOf('select 1 as a')
  }
  const name = nameIn(['select 1 as a', 'select 2 as b'])
  t.match(name, /^shoal_[0-9a-f]{32}_0$/)
  t.equal(nameIn(['select 2 as b', 'select 1 as a']), name, 'whatever was prepared before')
  const statements = new Statements()
  for (let n = 0; n < 3; n++) statements.nameOf('select 1 as a')
  statements.clear()
  for (let n = 0; n < 3; n++) statements.nameOf('select 1 as a')
  t.not(statements.nameOf('select 1 as a'), name, 'a changed table needs a new plan')
})

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

  t.test('with statements that the pooler does not keep apart is refused in one line', async t => {
    if (pgbouncerPrepares()) return void t.pass('this PgBouncer keeps them apart')
    const pooled = await openPgbouncer(t, await createDatabase(t))
    await t.rejects(openStore({ ...pooled, prepared: true }), {
      code: 'config_invalid',
      message: /^store.prepared: .*set store.prepared: false/,
    })
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
