import { waitBy } from '../../../shared/runtime.ts'
import type { Base } from '../../kernel/base/base.ts'
import type { Replicas } from '../../kernel/replicas/replicas.ts'
import type { SigningKey } from '../../kernel/signing/signing.ts'
import type { Store } from '../../kernel/store/store.ts'
import type { Fleet } from '../cells/fleet.ts'
import type { Cells } from './cells.ts'
import { createFleetIdentity, type FleetIdentity } from './fleet-identity.ts'
import { RenewalRelay } from './renewal-relay.ts'

/** Keys with which the coordinator proves its identity to cells. */
export interface IdentityViews {
  identity: Omit<FleetIdentity, 'checkPinnedKey'>
}

interface IdentityParts extends Pick<Base, 'stack' | 'logger' | 'now' | 'runtime'> {
  signing: SigningKey
  store: Pick<Store, 'ledger'>
  cells: Pick<Cells, 'onChange'>
  replicas: Pick<Replicas, 'live'>
  bus: {
    publish(
      name: 'trust' | 'renew' | 'rebirth',
      cellId: string,
      type: string,
      body: unknown,
    ): Promise<void>
  }
  fleet: Pick<Fleet, 'cell' | 'cells'>
  /** Certificate of the listener; undefined on plain loopback. */
  shown: { fingerprint?: string | undefined } | undefined
}

export const openIdentity = ({
  shown,
  ...parts
}: IdentityParts): { identity: FleetIdentity; views: IdentityViews } => {
  const { cells, bus, stack, logger } = parts
  const tell = (cellId: string) => bus.publish('renew', cellId, 'renew', {})
  const renewals = new RenewalRelay({ ...parts, tell, wait: waitBy(parts.runtime) })
  const serve = () => {
    renewals.serve().catch(error => logger.warn({ err: error }, 'request for renewals not sent'))
  }
  stack.defer(cells.onChange(serve))
  const identity = createFleetIdentity({
    ...parts,
    renewals,
    fingerprint: () => shown?.fingerprint,
  })
  return { identity, views: { identity } }
}
