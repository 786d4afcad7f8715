import t from 'tap'
import { createLeases } from '../../../../coordinator/kernel/store/leases.ts'
import { testLeases } from '../../../contracts/lease.ts'
import { temporaryFolder, temporaryStore } from './temporary.ts'

t.test('leases in SQLite meet the contract', async t => {
  testLeases(t, async t => {
    const folder = await temporaryFolder(t)
    let now = 1_000_000
    const holder = async () => {
      const { ledger } = await temporaryStore(t, folder, { now: () => now })
      return { ledger, leases: createLeases(ledger) }
    }
    return {
      holders: [await holder(), await holder()],
      advance: milliseconds => {
        now += milliseconds
      },
    }
  })
})
