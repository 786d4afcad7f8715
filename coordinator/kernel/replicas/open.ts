import { hostname } from 'node:os'
import { newId } from '../../../shared/ids.ts'
import { VERSION } from '../../../shared/version.ts'
import type { Base } from '../base/base.ts'
import type { Store } from '../store/store.ts'
import { RegisteredReplicas } from './registered-replicas.ts'
import type { ReplicaConfig } from './replica-config.ts'
import type { Replicas } from './replicas.ts'
import { createSoleReplica } from './sole-replica.ts'

interface ReplicasParts extends Pick<Base, 'stack' | 'schedules' | 'logger' | 'now' | 'nowMs'> {
  config: { replica: ReplicaConfig }
  store: Pick<Store, 'ledger' | 'isShared'>
}

const RENEW_SECONDS = 1

/** Registers this coordinator among those on its store; on SQLite it is the only one. */
export const openReplicas = async (parts: ReplicasParts): Promise<{ replicas: Replicas }> => {
  const { config, store, stack, schedules, logger, now, nowMs } = parts
  const { name = hostname(), address } = config.replica
  const self = { id: newId('rep'), name, address, version: VERSION }
  if (!store.isShared) return { replicas: createSoleReplica({ ...self, startedAt: now() }) }
  const replicas = new RegisteredReplicas({ ledger: store.ledger, self, logger, nowMs })
  await replicas.register()
  stack.defer(() =>
    replicas.leave().catch(error => logger.warn({ err: error }, 'not deregistered')),
  )
  schedules.every('replicas.renew', RENEW_SECONDS, () => replicas.renew())
  return { replicas }
}
