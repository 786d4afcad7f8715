import type { Base } from '../../kernel/base/base.ts'
import type { Events } from '../../kernel/events/bus.ts'
import type { OpenLeader } from '../../kernel/leader/open.ts'
import type { Replicas } from '../../kernel/replicas/replicas.ts'
import type { Store } from '../../kernel/store/store.ts'
import type { Fleet } from './fleet.ts'
import type { FleetListeners } from './open.ts'
import { PresencePublisher } from './presence-publisher.ts'

interface PresenceDomainParts
  extends Pick<Base, 'stack' | 'logger' | 'now' | 'nowMs' | 'runtime'>,
    Pick<OpenLeader, 'leaderWork'> {
  store: Pick<Store, 'ledger'>
  replicas: Replicas
  events: Pick<Events, 'addWithin'>
  fleet: Pick<Fleet, 'cells'>
  fleetListeners: Pick<FleetListeners, 'presenceChanges' | 'removals'>
}

const SWEEP_SECONDS = 30

/**
 * Reports the presence of cells. It opens after the parts that receive their messages and so closes
 * first: a coordinator that stops loses its cells, which says nothing of them.
 */
export const openPresence = async (parts: PresenceDomainParts): Promise<object> => {
  const { store, fleet, fleetListeners, leaderWork, stack } = parts
  const { ledger } = store
  const publisher = new PresencePublisher({ ...parts, ledger, cells: () => fleet.cells() })
  stack.defer(() => publisher.close())
  fleetListeners.presenceChanges.add(({ id, presence }) => publisher.note(id, presence))
  fleetListeners.removals.add(cellId => publisher.forget(cellId))
  await publisher.reconcile()
  leaderWork.every('fleet.presence', SWEEP_SECONDS, ledger => publisher.sweep(ledger))
  return {}
}
