import type { Base } from '../base/base.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { SigningKey } from '../signing/signing.ts'
import type { Store } from '../store/store.ts'
import {
  createFleetIdentity,
  type FleetIdentity,
  type FleetIdentityParts,
} from './fleet-identity.ts'

/** Keys with which the coordinator proves its identity to cells. */
interface IdentityViews {
  identity: Omit<FleetIdentity, 'checkPinnedKey'>
}

interface IdentityParts extends Pick<Base, 'logger'> {
  signing: SigningKey
  store: Pick<Store, 'ledger'>
  bus: FleetIdentityParts['bus']
  fleet: Pick<Fleet, 'cells'>
  /** Certificate of the listener; undefined on plain loopback. */
  shown: { fingerprint?: string | undefined } | undefined
}

export const openIdentity = ({
  shown,
  ...parts
}: IdentityParts): { identity: FleetIdentity; views: IdentityViews } => {
  const identity = createFleetIdentity({ ...parts, fingerprint: () => shown?.fingerprint })
  return { identity, views: { identity } }
}
