import type { Logger } from 'pino'
import type { TrustBody } from '../shared/wire/trust.ts'
import { type Actor, createAudit } from './audit/audit.ts'
import type { Bus } from './broker/bus.ts'
import type { Fleet } from './fleet/fleet.ts'
import type { Signing } from './keys/signing.ts'
import type { Store } from './store/store.ts'

/** What the coordinator proves itself with towards cells, and how cells learn of changes. */
export interface FleetIdentity {
  trust(): TrustBody
  /** A new signing key; every cell that is connected is told at once, the others when they come. */
  rotateKey(by: Actor): Promise<TrustBody>
  /** A cell has told which key it has pinned. */
  greeted(cellId: string, pinnedKey: string | undefined): void
  askToRenew(cellId: string, by: Actor): Promise<void>
  /** Fingerprint of our own certificate authority, for join tokens; undefined without one. */
  fingerprint(): string | undefined
}

export interface FleetIdentityParts {
  signing: Signing
  store: Pick<Store, 'ledger'>
  bus: Pick<Bus, 'publish'>
  fleet: Pick<Fleet, 'cells'>
  fingerprint: () => string | undefined
  logger: Pick<Logger, 'warn'>
}

export const createFleetIdentity = (parts: FleetIdentityParts): FleetIdentity => {
  const { signing, store, bus, fleet, fingerprint, logger } = parts
  const audit = createAudit(store)

  const tell = (cellId: string, pinnedKey: string | undefined): void => {
    bus
      .publish('trust', cellId, 'trust', signing.trust(pinnedKey))
      .catch(error => logger.warn({ err: error, cell: cellId }, 'the cell was not told our key'))
  }

  return {
    trust: () => signing.trust(),
    rotateKey: async by => {
      // the row first: a new key makes heads of the audit void, so an audit in doubt refuses it
      const details = { replaces: signing.publicKey }
      const entry = { ...by, action: 'signing_key.rotate', subject: 'coordinator', details }
      await audit.append({ ...entry, outcome: 'done' })
      const trust = await signing.rotate()
      for (const { id, announce } of fleet.cells())
        if (announce !== undefined) tell(id, announce.coordinator_key)
      return trust
    },
    greeted: (cellId, pinnedKey) => {
      if (pinnedKey !== signing.publicKey) tell(cellId, pinnedKey)
    },
    askToRenew: async (cellId, by) => {
      await audit.append({ ...by, action: 'cell.renew', subject: cellId, outcome: 'done' })
      await bus.publish('renew', cellId, 'renew', {})
    },
    fingerprint,
  }
}
