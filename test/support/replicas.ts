import type { Ownership } from '../../coordinator/kernel/leases/ownership.ts'
import { createProcessRow } from '../../coordinator/kernel/replicas/process-row.ts'
import type { Replica, Replicas } from '../../coordinator/kernel/replicas/replicas.ts'
import { createSoleReplica } from '../../coordinator/kernel/replicas/sole-replica.ts'
import type { Ledger } from '../../coordinator/kernel/store/store.ts'
import { newId } from '../../shared/ids.ts'

const newReplica = (): Replica => ({
  id: newId('rep'),
  name: undefined,
  address: undefined,
  version: '1',
  startedAt: 0,
})

/** The only coordinator on its store, new at every call as at every start. */
export const soleReplica = (): Replicas => createSoleReplica(newReplica())

/** Ownership of a coordinator that has just started; each take renews its lease. */
export const newOwnership = (ledger: Ledger): Ownership => {
  const { id, add } = createProcessRow({ ledger, self: newReplica() })
  return { id, keep: trx => add(trx, false) }
}

/** Coordinators that know each other; `leave` ends one without a word. */
export const createReplicaSet = () => {
  const live: Replica[] = []
  const listeners = new Set<() => void>()
  const notify = (): void => {
    for (const listener of listeners) listener()
  }
  return {
    join: (): Replicas => {
      const self = newReplica()
      live.push(self)
      notify()
      return {
        id: self.id,
        live: () => live,
        owns: () => live[0] === self,
        watchCells: () => {},
        lacksCells: () => false,
        onChange: listener => {
          listeners.add(listener)
          return () => listeners.delete(listener)
        },
      }
    },
    leave: ({ id }: Pick<Replicas, 'id'>): void => {
      live.splice(
        live.findIndex(one => one.id === id),
        1,
      )
      notify()
    },
  }
}
