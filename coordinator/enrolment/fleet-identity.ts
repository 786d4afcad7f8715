import type { Logger } from 'pino'
import { ShoalError } from '../../shared/errors.ts'
import { DAY_MS } from '../../shared/time.ts'
import type { Endorsement, TrustBody } from '../../shared/wire/trust.ts'
import { type Actor, createAudit } from '../audit/audit.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { SigningKey } from '../signing/signing.ts'
import type { Store } from '../store/store.ts'
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

export interface FleetIdentityParts {
  signing: SigningKey
  store: Pick<Store, 'ledger'>
  /** Bus that notifies cells. */
  bus: {
    publish(name: 'trust', cellId: string, type: string, body: unknown): Promise<void>
  }
  fleet: Pick<Fleet, 'cells'>
  renewals: Pick<RenewalRelay, 'requireReachable' | 'request'>
  fingerprint: () => string | undefined
  logger: Pick<Logger, 'warn'>
  /** Monotonic milliseconds. */
  nowMs?: () => number
}

/**
 * Limit that protects old signatures: a key keeps its newest thousand steps (`MAX_ENDORSEMENTS`),
 * and losing older ones would void earlier signatures and pins.
 */
const ROTATIONS_A_DAY = 24

export const createFleetIdentity = (parts: FleetIdentityParts): FleetIdentity => {
  const { signing, store, bus, fleet, renewals } = parts
  const { fingerprint, logger, nowMs = () => performance.now() } = parts
  const audit = createAudit(store)
  /** Times of key rotations, oldest first. */
  let rotatedMs: number[] = []

  /** Throws `rate_limited`. Counts before anything is done, as many may ask at once. */
  const countRotation = (): number => {
    const at = nowMs()
    rotatedMs = rotatedMs.filter(each => each > at - DAY_MS)
    const [first = at] = rotatedMs
    if (rotatedMs.length >= ROTATIONS_A_DAY)
      throw new ShoalError('rate_limited', `${ROTATIONS_A_DAY} new signing keys a day are enough`, {
        retryAfterSeconds: Math.ceil((first + DAY_MS - at) / 1000),
      })
    rotatedMs.push(at)
    return at
  }

  const tell = (cellId: string, pinnedKey: string | undefined): void => {
    bus
      .publish('trust', cellId, 'trust', signing.trust(pinnedKey))
      .catch(error => logger.warn({ err: error, cell: cellId }, 'the cell was not told our key'))
  }

  return {
    trust: () => signing.trust(),
    endorses: key => signing.endorses(key),
    rotateKey: async by => {
      const countedMs = countRotation()
      const entry = { ...by, action: 'signing_key.rotate', subject: 'coordinator' }
      // the row first, so that an audit in doubt refuses it; the old key has signed what it says
      const recordStep = ({ previous, ...step }: Endorsement) =>
        audit.append({ ...entry, outcome: 'done', details: { replaces: previous, ...step } })
      const trust = await signing.rotate({ recordStep }).catch(error => {
        rotatedMs = rotatedMs.toSpliced(rotatedMs.indexOf(countedMs), 1)
        throw error
      })
      for (const { id, announce } of fleet.cells())
        if (announce !== undefined) tell(id, announce.coordinator_key)
      return trust
    },
    checkPinnedKey: (cellId, pinnedKey) => {
      if (pinnedKey !== signing.publicKey) tell(cellId, pinnedKey)
    },
    askToRenew: async (cellId, by) => {
      renewals.requireReachable(cellId)
      await audit.append({ ...by, action: 'cell.renew', subject: cellId, outcome: 'done' })
      await renewals.request(cellId)
    },
    fingerprint,
  }
}
