import { join } from 'node:path'
import * as z from 'zod'
import { ShoalError } from '../../shared/errors.ts'
import { createPrivate, readPrivate, replacePrivate } from '../../shared/private-file.ts'
import { createSigner, generatePrivateKey, PublicKey, type Signer } from '../../shared/signing.ts'
import {
  ENDORSE_PURPOSE,
  Endorsement,
  followEndorsements,
  MAX_ENDORSEMENTS,
  type TrustBody,
} from '../../shared/wire/trust.ts'

/** The key with which the coordinator signs commands; cells have pinned it. */
export interface SigningKey extends Signer {
  /**
   * Returns the endorsements that lead a cell from its pinned key to the current one: every step
   * since, or the newest ones when the pinned key is unknown.
   */
  trust(pinned?: string): TrustBody
  /**
   * A new key, vouched for by the one before. Resolves when it is on the disk and in use; several
   * at once come one after the other.
   */
  rotate(options?: RotateOptions): Promise<TrustBody>
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
}

interface RotateOptions {
  /** Puts the step on record before the new key counts; when it rejects, nothing has changed. */
  recordStep?: (step: Endorsement) => Promise<unknown>
  /** Heads of the audit that were signed with earlier keys count for nothing from now on. */
  voidsHeads?: boolean
  /** A key that is lost, and whose signatures under purges count from now on. */
  adopts?: string
}

/** Steps sent when the pinned key is unknown: the response stays far below 16 KiB. */
const NEWEST_STEPS = 32

const Kept = z.object({
  private_key: z.string(),
  endorsements: z.array(Endorsement),
  /** The oldest key whose heads of the audit count; the current one by default. */
  heads_since: PublicKey.exactOptional(),
  /** Keys that were lost: nothing leads from them to the current one. */
  adopted: z.array(PublicKey).exactOptional(),
})
type Kept = z.infer<typeof Kept>

/**
 * The key in the state folder, made at the first start. One file holds key and history, so that a
 * crash leaves both as before or both as after. Throws `store_unavailable` for a damaged one.
 */
export const openSigning = async (stateDir: string): Promise<SigningKey> => {
  const path = join(stateDir, 'signing.json')
  const text = (await readPrivate(path)) ?? (await make(path))
  let kept = understand(text, path)
  let signer = createSigner(kept.private_key)
  let headsSince = kept.heads_since ?? signer.publicKey

  const trust: SigningKey['trust'] = pinned => {
    const steps = kept.endorsements
    const first = steps.findIndex(({ previous }) => previous === pinned)
    return {
      signing_key: signer.publicKey,
      endorsements: first < 0 ? steps.slice(-NEWEST_STEPS) : steps.slice(first),
    }
  }

  const leadsHere = (key: string): boolean =>
    followEndorsements(key, trust(key)) === signer.publicKey

  const endorses = (key: string): boolean => leadsHere(key) || kept.adopted?.includes(key) === true

  const witnesses = (key: string): boolean => {
    if (key === signer.publicKey) return true
    const stepFrom = (from: string) =>
      kept.endorsements.findIndex(({ previous }) => previous === from)
    const isVoid = headsSince === signer.publicKey || stepFrom(key) < stepFrom(headsSince)
    return !isVoid && leadsHere(key)
  }

  const replace = async (options: RotateOptions = {}): Promise<TrustBody> => {
    const { recordStep, voidsHeads, adopts } = options
    const private_key = generatePrivateKey()
    const next = createSigner(private_key)
    const step = { key: next.publicKey, previous: signer.publicKey }
    const endorsement = { ...step, signature: signer.sign(ENDORSE_PURPOSE, step) }
    const endorsements = [...kept.endorsements, endorsement].slice(-MAX_ENDORSEMENTS)
    await recordStep?.(endorsement)
    const heads_since = voidsHeads ? next.publicKey : headsSince
    const adopted = [...(kept.adopted ?? []), ...(adopts === undefined ? [] : [adopts])]
    const after: Kept = { private_key, endorsements, heads_since, adopted }
    await replacePrivate(path, textOf(after))
    kept = after
    headsSince = heads_since
    signer = next
    return trust()
  }

  let last: Promise<unknown> = Promise.resolve()
  const rotate: SigningKey['rotate'] = options => {
    const mine = last.then(() => replace(options))
    last = mine.catch(() => {})
    return mine
  }

  return {
    get publicKey() {
      return signer.publicKey
    },
    sign: (purpose, value) => signer.sign(purpose, value),
    trust,
    rotate,
    endorses,
    witnesses,
  }
}

const textOf = (kept: Kept): string => `${JSON.stringify(kept, null, 2)}\n`

const make = async (path: string): Promise<string> => {
  const text = textOf({ private_key: generatePrivateKey(), endorsements: [] })
  return (await createPrivate(path, text)) ? text : ((await readPrivate(path)) ?? '')
}

const understand = (text: string, path: string): Kept => {
  try {
    const kept = Kept.parse(JSON.parse(text))
    createSigner(kept.private_key)
    return kept
  } catch (cause) {
    throw new ShoalError('store_unavailable', `${path} is damaged; restore it`, { cause })
  }
}
