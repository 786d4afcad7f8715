import t, { type Test } from 'tap'
import { LeaseLeader } from '../../../coordinator/leader/lease-leader.ts'
import { StoreFault } from '../../../coordinator/store/faults.ts'
import { createLeases } from '../../../coordinator/store/leases.ts'
import type { StorePlace } from '../../../coordinator/store/place.ts'
import { type Ledger, openStore, type Store } from '../../../coordinator/store/store.ts'
import { testLeader } from '../../contracts/leader.ts'
import { testLeases } from '../../contracts/lease.ts'
import { testStoreContract } from '../../contracts/store.ts'
import { silent } from '../../support/cell.ts'
import { createDatabase, postgresMissing } from '../../support/postgres.ts'

const openPlainStore = async (t: Test, address: StorePlace): Promise<Store> => {
  const store = await openStore(address, { pollMilliseconds: 0 })
  t.teardown(() => store.close())
  return store
}

t.test('PostgreSQL keeps the contract of the store', { skip: postgresMissing }, async t => {
  testStoreContract(t, async t => {
    const address = await createDatabase(t)
    return {
      stores: [await openPlainStore(t, address), await openPlainStore(t, address)],
      conflict: () => new StoreFault('conflict', 'could not serialize access', undefined),
    }
  })
})

t.test('leases in PostgreSQL', { skip: postgresMissing }, async t => {
  testLeases(t, async t => {
    const address = await createDatabase(t)
    const holder = async () => {
      const { ledger } = await openPlainStore(t, address)
      return { ledger, leases: createLeases(ledger) }
    }
    const holders = [await holder(), await holder()] as const
    return { holders, advance: milliseconds => shortenTenures(holders[0].ledger, milliseconds) }
  })
})

t.test('the leader by a lease row in PostgreSQL', { skip: postgresMissing }, async t => {
  const tenureMs = 600_000
  testLeader(t, async t => {
    const address = await createDatabase(t)
    let nowMs = 0
    const open = async (owner: string) => {
      const { ledger } = await openPlainStore(t, address)
      const leases = createLeases(ledger)
      const leader = new LeaseLeader({
        leases,
        owner,
        logger: silent,
        nowMs: () => nowMs,
        tenureMs,
      })
      t.teardown(() => leader.close())
      return { leader, ledger, campaign: () => leader.campaign() }
    }
    const candidates = [await open('a'), await open('b')] as const
    const advance = async (milliseconds: number) => {
      nowMs += milliseconds
      await shortenTenures(candidates[0].ledger, milliseconds)
    }
    return { candidates, advance, tenureMs }
  })
})

/** The clock of the server stays as it is: the ends of all tenures come nearer instead. */
const shortenTenures = ({ free }: Ledger, milliseconds: number): Promise<unknown> =>
  free.write(trx =>
    trx
      .updateTable('leases')
      .set(row => ({ until: row('until', '-', milliseconds) }))
      .execute(),
  )
