import type { Transaction } from 'kysely'
import type { Signer } from '../../../shared/signing.ts'
import type { Endorsement, TrustBody } from '../../../shared/wire/trust.ts'
import { Listeners } from '../base/listeners.ts'
import type { Secrets } from '../secrets/secrets.ts'
import type { SealedTrx } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'
import {
  createSigningText,
  isEndorsed,
  isWitness,
  type NextKeyOptions,
  nextKey,
  parseSigning,
  trustOf,
} from './signing-state.ts'

/** The key with which every coordinator of the store signs commands; cells have pinned it. */
export interface SigningKey extends Signer {
  /**
   * Returns the endorsements that lead a cell from its pinned key to the current one: every step
   * since, or the newest ones when the pinned key is unknown.
   */
  trust(pinned?: string): TrustBody
  /**
   * Creates a new key, endorsed by the one before. Resolves when it is stored and in use here;
   * other coordinators use it within a second.
   */
  rotate(options?: RotateOptions): Promise<TrustBody>
  /** Calls back when the key has changed; `isOwn` when this coordinator has rotated it. */
  onChange(listener: (isOwn: boolean) => void): () => void
  /**
   * True for the current key, for one from which signed steps lead to it, and for one that is lost
   * and was adopted.
   */
  endorses(key: string): boolean
  /**
   * True for the current key, and for a key from which signed steps lead to it, unless it predates
   * the acceptance of the audit: its heads are then void.
   */
  witnesses(key: string): boolean
  /** Time of the last acceptance of the audit, unix milliseconds; 0 before the first. */
  headsVoidAt(): number
  /** False when another coordinator has rotated the key and this one does not know yet. */
  isCurrent(trx: Transaction<LedgerTables>): Promise<boolean>
}

interface RotateOptions extends NextKeyOptions {
  /** Records the step in the same transaction; when it rejects, nothing has changed. */
  recordStep?: (step: Endorsement, trx: SealedTrx) => Promise<unknown>
  /** True for a rotation that is allowed while the audit is in doubt. */
  evenFrozen?: boolean
}

/** Opens the key in the store, which the first coordinator creates. */
export const openSigning = async (
  secrets: Pick<Secrets, 'ensure' | 'update' | 'onChange' | 'isCurrent'>,
): Promise<SigningKey> => {
  let state = parseSigning(await secrets.ensure('signing', createSigningText))
  const changes = new Listeners<[isOwn: boolean]>()
  secrets.onChange('signing', (text, isOwn) => {
    state = parseSigning(text)
    changes.notify(isOwn)
  })

  const rotate: SigningKey['rotate'] = async ({ recordStep, evenFrozen = false, ...next } = {}) => {
    const text = await secrets.update(
      'signing',
      async (current, trx, now) => {
        const { step, text } = nextKey(parseSigning(current), next, now)
        await recordStep?.(step, trx)
        return text
      },
      { evenFrozen },
    )
    return trustOf(parseSigning(text))
  }

  return {
    get publicKey() {
      return state.signer.publicKey
    },
    sign: (purpose, value) => state.signer.sign(purpose, value),
    trust: pinned => trustOf(state, pinned),
    rotate,
    onChange: changes.add,
    endorses: key => isEndorsed(state, key),
    witnesses: key => isWitness(state, key),
    headsVoidAt: () => state.stored.heads_void_at ?? 0,
    isCurrent: trx => secrets.isCurrent('signing', trx),
  }
}
