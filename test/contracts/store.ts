import { setImmediate } from 'node:timers/promises'
import type { Transaction } from 'kysely'
import type { Test } from 'tap'
import { withChangeHook } from '../../coordinator/kernel/store/change-hook.ts'
import { countAll, countMatchingRows, sumOf } from '../../coordinator/kernel/store/count.ts'
import { faultOf } from '../../coordinator/kernel/store/faults.ts'
import { nextSequence, readLastNumber } from '../../coordinator/kernel/store/sequences.ts'
import type { Ledger, SealedTrx, Store } from '../../coordinator/kernel/store/store.ts'
import type { LedgerTables } from '../../coordinator/kernel/store/tables.ts'
import { markTrouble } from '../../coordinator/kernel/store/trouble.ts'

interface StoreBench {
  /** Two stores on the same databases, as two processes have them. */
  stores: readonly [Store, Store]
  /** A failure by collision with another transaction, as the engine reports it. */
  conflict(): Error
}

type Open = (t: Test) => Promise<StoreBench>

const addTenant = async (trx: Transaction<LedgerTables>, id: string): Promise<string> => {
  await trx.insertInto('tenants').values({ id, name: id, created_at: 1 }).execute()
  return id
}

const tenantsOf = async ({ read }: Ledger): Promise<string[]> => {
  const rows = await read.selectFrom('tenants').select('id').orderBy('id').execute()
  return rows.map(({ id }) => id)
}

const lanesOf = ({ sealed, free }: Ledger) => [
  { name: 'sealed', write: sealed.write as Ledger['free']['write'] },
  { name: 'free', write: free.write },
]

/** What every engine of the store must do. */
export const testStoreContract = (t: Test, open: Open): void => {
  testAtomicity(t, open)
  testSealedOrder(t, open)
  testEmptyLists(t, open)
  testFreeWork(t, open)
  testSequences(t, open)
  testNumbers(t, open)
  testHooks(t, open)
  testFreezing(t, open)
  testFaults(t, open)
  testChanges(t, open)
  testClosing(t, open)
}

const testAtomicity = (t: Test, open: Open): void => {
  t.test('a unit of work is atomic and independent of the failures of others', async t => {
    const { stores } = await open(t)
    const [{ ledger }, other] = stores
    for (const { name, write } of lanesOf(ledger)) {
      await write(trx => addTenant(trx, `${name}-a`))
      const outcomes = await Promise.allSettled([
        write(async trx => {
          await addTenant(trx, `${name}-lost`)
          throw new RangeError('changed my mind')
        }),
        write(trx => addTenant(trx, `${name}-a`)),
        write(trx => addTenant(trx, `${name}-b`)),
      ])
      t.strictSame(
        outcomes.map(outcome => outcome.status),
        ['rejected', 'rejected', 'fulfilled'],
        name,
      )
      t.match(outcomes[0], { reason: { message: 'changed my mind' } })
    }
    t.strictSame(await tenantsOf(other.ledger), ['free-a', 'free-b', 'sealed-a', 'sealed-b'])
  })

  t.test('a result resolves once others can read the written data', async t => {
    const { stores } = await open(t)
    const [{ ledger }, other] = stores
    for (const { name, write } of lanesOf(ledger)) {
      await write(async trx => {
        await addTenant(trx, name)
        t.notOk((await tenantsOf(other.ledger)).includes(name), 'nothing is visible before')
      })
      t.ok((await tenantsOf(other.ledger)).includes(name))
    }
  })
}

const testSealedOrder = (t: Test, open: Open): void => {
  t.test('sealed units of work run one after another across all processes', async t => {
    const { stores } = await open(t)
    /** Reads, gives others the chance to come between, and writes what it has read plus one. */
    const raise = async (trx: SealedTrx): Promise<void> => {
      const row = await trx
        .selectFrom('probe')
        .select('at')
        .where('id', '=', 7)
        .executeTakeFirstOrThrow()
      await setImmediate()
      await trx
        .updateTable('probe')
        .set({ at: row.at + 1 })
        .where('id', '=', 7)
        .execute()
    }
    await stores[0].ledger.sealed.write(trx =>
      trx.insertInto('probe').values({ id: 7, at: 0 }).execute(),
    )
    const works: Promise<void>[] = []
    for (let n = 0; n < 50; n++)
      for (const { ledger } of stores) works.push(ledger.sealed.write(raise))
    await Promise.all(works)
    const { at } = await stores[0].ledger.read
      .selectFrom('probe')
      .select('at')
      .where('id', '=', 7)
      .executeTakeFirstOrThrow()
    t.equal(at, 100)
  })
}

const testEmptyLists = (t: Test, open: Open): void => {
  t.test('a list without entries matches nothing', async t => {
    const [{ ledger }] = (await open(t)).stores
    const query = ledger.read.selectFrom('tenants').select('id')
    t.strictSame(await query.where('id', 'in', []).execute(), [])
    await ledger.free.write(trx => addTenant(trx, 'one'))
    t.strictSame(await query.where('id', 'not in', []).execute(), [{ id: 'one' }])
  })
}

const testFreeWork = (t: Test, open: Open): void => {
  t.test('a free unit of work retries after a collision; a sealed one fails', async t => {
    const { stores, conflict } = await open(t)
    const [{ ledger }] = stores
    let runs = 0
    const collideTwice = async (trx: Transaction<LedgerTables>): Promise<string> => {
      await addTenant(trx, `run-${runs}`)
      if (runs++ < 2) throw conflict()
      return 'done'
    }
    t.equal(await ledger.free.write(collideTwice), 'done')
    t.strictSame(await tenantsOf(ledger), ['run-2'], 'what the lost runs wrote is gone')
    runs = 0
    const error = await ledger.sealed.write(collideTwice).catch(failure => failure)
    t.equal(faultOf(error), 'conflict')
    t.equal(runs, 1)
  })

  t.test('conditional statements of free work add up across processes', async t => {
    const { stores } = await open(t)
    const add = (trx: Transaction<LedgerTables>) =>
      trx
        .insertInto('quotas')
        .values({ month: '2026-11', subject: 'key', reserved: 1 })
        .onConflict(conflict =>
          conflict
            .columns(['month', 'subject'])
            .doUpdateSet(row => ({ reserved: row('quotas.reserved', '+', 1) }))
            .where('quotas.reserved', '<', 70),
        )
        .returning('reserved')
        .executeTakeFirst()
    const granted = await Promise.all(
      Array.from({ length: 100 }, (_, n) => stores[n % 2 === 0 ? 0 : 1].ledger.free.write(add)),
    )
    const numbers = granted.flatMap(row => (row === undefined ? [] : [row.reserved]))
    t.strictSame(
      numbers.toSorted((a, b) => a - b),
      Array.from({ length: 70 }, (_, n) => n + 1),
    )
  })
}

const testSequences = (t: Test, open: Open): void => {
  t.test('a sequence has no gaps and no duplicates across processes and failures', async t => {
    const { stores } = await open(t)
    const next = (n: number) =>
      stores[n % 2 === 0 ? 0 : 1].ledger.sealed.write(async trx => {
        const value = await nextSequence(trx, 'jobs')
        await trx
          .insertInto('tenants')
          .values({ id: `n${n}`, name: `${value}`, created_at: value })
          .execute()
        if (n % 5 === 0) throw new RangeError('the number is given back')
        return value
      })
    const outcomes = await Promise.allSettled(Array.from({ length: 100 }, (_, n) => next(n)))
    const given = outcomes.flatMap(outcome =>
      outcome.status === 'fulfilled' ? [outcome.value] : [],
    )
    t.strictSame(
      given.toSorted((a, b) => a - b),
      Array.from({ length: 80 }, (_, n) => n + 1),
    )
    const [{ ledger }] = stores
    t.equal(await readLastNumber(ledger.read, 'jobs'), 80)
    t.equal(await readLastNumber(ledger.read, 'configs'), 0, 'each sequence is its own')
  })

  t.test('a sequence may jump ahead and never goes back', async t => {
    const { stores } = await open(t)
    const jump = (atLeast: number) =>
      stores[0].ledger.sealed.write(trx => nextSequence(trx, 'command-fence:c', atLeast))
    const given = [await jump(50), await jump(50), await jump(10), await jump(100)]
    t.strictSame(given, [50, 51, 52, 100])
  })
}

const testNumbers = (t: Test, open: Open): void => {
  t.test('counts, sums, large whole numbers and times are numbers', async t => {
    const { stores } = await open(t)
    const [{ ledger }] = stores
    const largest = Number.MAX_SAFE_INTEGER
    await ledger.sealed.write(async trx => {
      await addTenant(trx, 'a')
      await trx.insertInto('probe').values({ id: 8, at: largest }).execute()
    })
    const { read } = ledger
    t.equal(await countMatchingRows(read.selectFrom('tenants')), 1)
    t.equal(await countMatchingRows(read.selectFrom('tenants').where('id', '=', 'none')), 0)
    const grouped = read
      .selectFrom('tenants')
      .groupBy('name')
      .select(['name', countAll.as('rows')])
    t.strictSame(await grouped.execute(), [{ name: 'a', rows: 1 }])
    const sums = read.selectFrom('probe').select(sumOf('at').as('sum'))
    t.strictSame(await sums.execute(), [{ sum: largest }])
    t.strictSame(await sums.where('id', '=', 9).execute(), [{ sum: 0 }], 'over no rows')
    const row = await read.selectFrom('probe').selectAll().where('id', '=', 8).executeTakeFirst()
    t.strictSame(row, { id: 8, at: largest })
    t.type(await ledger.free.write(ledger.nowMs), 'number')
  })

  t.test('a bulk insert skips rows that already exist', async t => {
    const { stores } = await open(t)
    const [{ ledger }] = stores
    const target = { table: 'tenants', key: 'id', columns: ['id', 'name', 'created_at'] } as const
    const rows = Array.from({ length: 300 }, (_, n) => ({ id: `t${n}`, name: 'x', created_at: n }))
    const insert = () => ledger.free.write(trx => ledger.insertNew(trx, target, rows))
    await insert()
    await insert()
    t.equal(await countMatchingRows(ledger.read.selectFrom('tenants')), 300)
  })

  t.test('the database reports which tables are append-only', async t => {
    const { stores } = await open(t)
    const [{ ledger }] = stores
    const isKept = [await ledger.isAppendOnly('audit'), await ledger.isAppendOnly('policies')]
    t.strictSame([...isKept, await ledger.isAppendOnly('tenants')], [true, true, false])
  })
}

const testHooks = (t: Test, open: Open): void => {
  t.test('hooks run around changes of both lanes, and the options of a write are kept', async t => {
    const { stores } = await open(t)
    const seen: string[] = []
    const inner = withChangeHook(stores[0].ledger, async (work, commit, lane) => {
      const result = await commit(async trx => {
        const done = await work(trx)
        await addTenant(trx, `beside-${lane}`)
        return done
      })
      seen.push(`inner ${lane}`)
      return result
    })
    const ledger = withChangeHook(inner, async (work, commit, lane) => {
      const result = await commit(work)
      seen.push(`outer ${lane}`)
      return result
    })
    t.equal(await ledger.sealed.write(trx => addTenant(trx, 'a')), 'a')
    t.equal(await ledger.free.write(trx => addTenant(trx, 'b')), 'b')
    t.strictSame(seen, ['inner sealed', 'outer sealed', 'inner free', 'outer free'])
    t.strictSame(await tenantsOf(ledger), ['a', 'b', 'beside-free', 'beside-sealed'])

    const plain = withChangeHook(stores[0].ledger, (work, commit) => commit(work))
    plain.freeze('in doubt')
    await plain.sealed.write(trx => addTenant(trx, 'c'), { evenFrozen: true })
    t.ok((await tenantsOf(ledger)).includes('c'), 'evenFrozen goes through a hook')
  })
}

const testFreezing = (t: Test, open: Open): void => {
  const refused = { code: 'audit_broken' }

  t.test('a frozen database refuses writes that are not exempt, in both lanes', async t => {
    const { stores } = await open(t)
    const [{ ledger }] = stores
    ledger.freeze('in doubt')
    for (const { name, write } of lanesOf(ledger)) {
      await t.rejects(
        write(trx => addTenant(trx, name)),
        { ...refused, message: 'in doubt' },
      )
      await write(trx => addTenant(trx, `even-${name}`), { evenFrozen: true })
    }
    t.strictSame(await tenantsOf(ledger), ['even-free', 'even-sealed'], 'and reading goes on')
  })

  t.test('a mark in the database freezes every process', async t => {
    const { stores } = await open(t)
    const [one, two] = stores
    await one.ledger.sealed.write(trx => markTrouble(trx, 'rows are gone', 1))
    for (const { ledger } of [one, two])
      for (const { write } of lanesOf(ledger)) {
        await t.rejects(
          write(trx => addTenant(trx, 'x')),
          { ...refused, message: /rows are gone/ },
        )
      }
    await two.ledger.sealed.write(trx => addTenant(trx, 'even'), { evenFrozen: true })
    t.strictSame(await tenantsOf(one.ledger), ['even'])
  })
}

const testFaults = (t: Test, open: Open): void => {
  t.test('a constraint violation is classified, and a read cannot write', async t => {
    const { stores } = await open(t)
    const [{ ledger }] = stores
    const faultIn = (work: (trx: SealedTrx) => Promise<unknown>) =>
      ledger.sealed.write(work).then(() => undefined, faultOf)
    const person = { id: 'p', tenant_id: 'nobody', name: 'p', created_at: 1 }
    await ledger.sealed.write(trx => addTenant(trx, 'a'))
    t.equal(await faultIn(trx => addTenant(trx, 'a')), 'unique')
    t.equal(await faultIn(trx => trx.insertInto('persons').values(person).execute()), 'reference')
    t.equal(await faultIn(() => Promise.reject(new RangeError('own'))), undefined)
    const error = await ledger.read
      .deleteFrom('tenants')
      .execute()
      .catch(failure => failure)
    t.match(error, { code: 'store_unavailable' })
    t.equal(faultOf(error), 'read_only')
  })
}

const testChanges = (t: Test, open: Open): void => {
  t.test('a commit by another process is noticed', async t => {
    const { stores } = await open(t)
    const [one, two] = stores
    const before = one.ledger.foreignCommits()
    await two.ledger.sealed.write(trx => addTenant(trx, 'a'))
    t.not(one.ledger.foreignCommits(), before)
  })
}

const testClosing = (t: Test, open: Open): void => {
  t.test('closing completes queued writes and refuses later ones', async t => {
    const { stores } = await open(t)
    const [one, two] = stores
    const queued = [
      one.ledger.sealed.write(trx => addTenant(trx, 'a')),
      one.ledger.free.write(trx => addTenant(trx, 'b')),
    ]
    await one.close()
    t.strictSame(await Promise.all(queued), ['a', 'b'])
    for (const { write } of lanesOf(one.ledger))
      await t.rejects(
        write(trx => addTenant(trx, 'late')),
        { code: 'store_unavailable' },
      )
    t.strictSame(await tenantsOf(two.ledger), ['a', 'b'])
  })
}
