import { withChangeHook } from '../store/change-hook.ts'
import type { Ledger } from '../store/store.ts'
import type { Leader } from './leader.ts'

/** Returns the ledger with writes that fail with `conflict` where this process does not lead. */
export const fenceLedger = (ledger: Ledger, leader: Pick<Leader, 'requireLeader'>): Ledger =>
  withChangeHook(ledger, (work, commit) =>
    commit(async trx => {
      await leader.requireLeader(trx)
      return work(trx)
    }),
  )
