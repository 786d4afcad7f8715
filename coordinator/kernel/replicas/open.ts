import { hostname } from 'node:os'
import { VERSION } from '../../../shared/version.ts'
import type { Base } from '../base/base.ts'
import type { Ownership } from '../leases/ownership.ts'
import type { Store } from '../store/store.ts'
import { createProcessRow } from './process-row.ts'
import { RegisteredReplicas } from './registered-replicas.ts'
import type { ReplicaConfig } from './replica-config.ts'
import type { Replicas } from './replicas.ts'
import { createSoleReplica } from './sole-replica.ts'

interface ReplicasParts extends Pick<Base, 'stack' | 'schedules' | 'logger' | 'now' | 'runtime'> {
  config: { replica: ReplicaConfig }
  store: Pick<Store, 'ledger' | 'isShared'>
}

const RENEW_SECONDS = 1

/**
 * Registers this coordinator among those on its store, by one row with one heartbeat. On SQLite it
 * is the only one: work that another process owned is abandoned.
 */
export const openReplicas = async (
  parts: ReplicasParts,
): Promise<{ replicas: Replicas; ownership: Ownership }> => {
  const { config, store, stack, schedules, logger, now, runtime } = parts
  const { name = hostname(), address } = config.replica
  const self = { id: runtime.ids.create('rep'), name, address, version: VERSION }
  const { ledger } = store
  if (!store.isShared) {
    const replicas = createSoleReplica({ ...self, startedAt: now() })
    return { replicas, ownership: { id: self.id, keep: async () => {} } }
  }
  const row = createProcessRow({ ledger, self })
  const replicas = new RegisteredReplicas({ ledger, self, row, logger, runtime })
  await replicas.register()
  stack.defer(() =>
    replicas.leave().catch(error => logger.warn({ err: error }, 'not deregistered')),
  )
  schedules.every('replicas.renew', RENEW_SECONDS, () => replicas.renew())
  return { replicas, ownership: row }
}
