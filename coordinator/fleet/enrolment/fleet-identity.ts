import type { Logger } from 'pino'
import type { Endorsement, TrustBody } from '../../../shared/wire/trust.ts'
import { type Actor, createAudit } from '../../kernel/audit/audit.ts'
import type { SigningKey } from '../../kernel/signing/signing.ts'
import type { SealedTrx, Store } from '../../kernel/store/store.ts'
import type { Fleet } from '../cells/fleet.ts'
import type { RenewalRelay } from './renewal-relay.ts'

/** Identity of the coordinator towards cells, and the notification of cells about changes. */
export interface FleetIdentity {
  trust(): TrustBody
  /** True when the key is the current signing key or one that vouches for it, step by step. */
  endorses(key: string): boolean
  /**
   * Creates a new signing key; connected cells are notified at once, the others when they connect.
   * Throws `rate_limited` after too many in a day.
   */
  rotateKey(by: Actor): Promise<TrustBody>
  /** Records the key that a cell has pinned. */
  checkPinnedKey(cellId: string, pinnedKey: string | undefined): void
  /**
   * Tells the cell to replace its credential. Throws `cell_unavailable` when no coordinator has it
   * connected.
   */
  askToRenew(cellId: string, by: Actor): Promise<void>
  /** Fingerprint of our own certificate authority, for join tokens; undefined without one. */
  fingerprint(): string | undefined
}

interface FleetIdentityParts {
  signing: SigningKey
  store: Pick<Store, 'ledger'>
  /** Bus that notifies cells. */
  bus: {
    publish(name: 'trust' | 'rebirth', cellId: string, type: string, body: unknown): Promise<void>
  }
  fleet: Pick<Fleet, 'cells'>
  renewals: Pick<RenewalRelay, 'requireReachable' | 'request'>
  fingerprint: () => string | undefined
  /** Unix time, milliseconds. */
  now: () => number
  logger: Pick<Logger, 'warn'>
}

/**
 * Limit that protects old signatures: a key keeps its newest thousand steps (`MAX_ENDORSEMENTS`),
 * and losing older ones would void earlier signatures and pins.
 */
const ROTATIONS_A_DAY = 24

export const createFleetIdentity = (parts: FleetIdentityParts): FleetIdentity => {
  const { signing, store, bus, fleet, renewals, fingerprint, now, logger } = parts
  const audit = createAudit(store)

  const publish = (name: 'trust' | 'rebirth', cellId: string, body: object): void => {
    bus
      .publish(name, cellId, name, body)
      .catch(error =>
        logger.warn(
          { err: error, cell: cellId },
          'the key of the coordinator was not sent to the cell',
        ),
      )
  }
  const tell = (cellId: string, pinnedKey: string | undefined): void =>
    publish('trust', cellId, signing.trust(pinnedKey))

  signing.onChange(isOwn => {
    for (const { id, announce } of fleet.cells()) {
      if (announce === undefined) continue
      tell(id, announce.coordinator_key)
      // the cell may have learned the new key from the other coordinator first, and has ignored what
      // this one still signed with the old key: after a birth it is sent again
      if (!isOwn) publish('rebirth', id, {})
    }
  })
  return {
    trust: () => signing.trust(),
    endorses: key => signing.endorses(key),
    rotateKey: async by => {
      const entry = { ...by, action: 'signing_key.rotate', subject: 'coordinator' }
      const recordStep = async ({ previous, ...step }: Endorsement, trx: SealedTrx) => {
        const details = { replaces: previous, ...step }
        await audit.append({ ...entry, at: now(), outcome: 'done', details }, trx)
      }
      return signing.rotate({ recordStep, mostPerDay: ROTATIONS_A_DAY })
    },
    checkPinnedKey: (cellId, pinnedKey) => {
      if (pinnedKey !== signing.publicKey) tell(cellId, pinnedKey)
    },
    askToRenew: async (cellId, by) => {
      renewals.requireReachable(cellId)
      const entry = { ...by, at: now(), action: 'cell.renew', subject: cellId }
      await audit.append({ ...entry, outcome: 'done' })
      await renewals.request(cellId)
    },
    fingerprint,
  }
}
