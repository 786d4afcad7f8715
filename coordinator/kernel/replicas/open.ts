import { hostname } from 'node:os'
import { VERSION } from '../../../shared/version.ts'
import type { Base } from '../base/base.ts'
import { createOwnership, type Ownership } from '../leases/ownership.ts'
import type { Store } from '../store/store.ts'
import { RegisteredReplicas } from './registered-replicas.ts'
import type { ReplicaConfig } from './replica-config.ts'
import type { Replicas } from './replicas.ts'
import { createSoleReplica } from './sole-replica.ts'

interface ReplicasParts extends Pick<Base, 'stack' | 'schedules' | 'logger' | 'now' | 'runtime'> {
  config: { replica: ReplicaConfig }
  store: Pick<Store, 'ledger' | 'isShared'>
}

const RENEW_SECONDS = 1
/** Interval where nobody else looks at the lease before this process has ended. */
const RENEW_ALONE_SECONDS = 5

/** Registers this coordinator among those on its store; on SQLite it is the only one. */
export const openReplicas = async (
  parts: ReplicasParts,
): Promise<{ replicas: Replicas; ownership: Ownership }> => {
  const { config, store, stack, schedules, logger, now, runtime } = parts
  const { name = hostname(), address } = config.replica
  const self = { id: runtime.ids.create('rep'), name, address, version: VERSION }
  const { ledger } = store
  const ownership = createOwnership({ id: self.id, ledger, logger })
  if (!store.isShared) {
    stack.defer(() => endOwnership(parts, ownership))
    schedules.every('replicas.renew', RENEW_ALONE_SECONDS, ownership.renew)
    return { replicas: createSoleReplica({ ...self, startedAt: now() }), ownership }
  }
  const replicas = new RegisteredReplicas({ ledger, self, ownership, logger, runtime })
  await replicas.register()
  stack.defer(() =>
    replicas.leave().catch(error => logger.warn({ err: error }, 'not deregistered')),
  )
  schedules.every('replicas.renew', RENEW_SECONDS, () => replicas.renew())
  return { replicas, ownership }
}

const endOwnership = ({ store, logger }: ReplicasParts, { end }: Ownership): Promise<void> =>
  store.ledger.free
    .write(end, { evenFrozen: true })
    .catch(error => logger.warn({ err: error }, 'the lease of this process was not ended'))
