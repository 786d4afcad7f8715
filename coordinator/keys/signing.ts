import { join } from 'node:path'
import * as z from 'zod'
import { ShoalError } from '../../shared/errors.ts'
import { createPrivate, readPrivate, replacePrivate } from '../../shared/private-file.ts'
import { newPrivateKey, type Signer, signerOf } from '../../shared/signing.ts'
import {
  ENDORSE_PURPOSE,
  Endorsement,
  MAX_ENDORSEMENTS,
  type TrustBody,
} from '../../shared/wire/trust.ts'

/** The key with which the coordinator signs commands; cells have pinned it. */
export interface Signing extends Signer {
  /**
   * What a cell that has pinned this key needs to believe in the current one: every step since, or
   * the newest ones when it is not known which key that is.
   */
  trust(pinned?: string): TrustBody
  /**
   * A new key, vouched for by the one before. Resolves when it is on the disk and in use; several
   * at once come one after the other.
   */
  rotate(): Promise<TrustBody>
}

/** Steps that are told to whom we do not know: an answer with them is far below 16 KiB. */
const NEWEST_STEPS = 32

const Kept = z.object({ private_key: z.string(), endorsements: z.array(Endorsement) })
type Kept = z.infer<typeof Kept>

/**
 * The key in the state folder, made at the first start. One file holds key and history, so that a
 * crash leaves both as before or both as after. Throws `store_unavailable` for a damaged one.
 */
export const openSigning = async (stateDir: string): Promise<Signing> => {
  const path = join(stateDir, 'signing.json')
  const text = (await readPrivate(path)) ?? (await make(path))
  let kept = understand(text, path)
  let signer = signerOf(kept.private_key)

  const trust: Signing['trust'] = pinned => {
    const steps = kept.endorsements
    const first = steps.findIndex(({ previous }) => previous === pinned)
    return {
      signing_key: signer.publicKey,
      endorsements: first < 0 ? steps.slice(-NEWEST_STEPS) : steps.slice(first),
    }
  }

  const replace = async (): Promise<TrustBody> => {
    const private_key = newPrivateKey()
    const next = signerOf(private_key)
    const step = { key: next.publicKey, previous: signer.publicKey }
    const endorsement = { ...step, signature: signer.sign(ENDORSE_PURPOSE, step) }
    const endorsements = [...kept.endorsements, endorsement].slice(-MAX_ENDORSEMENTS)
    const after: Kept = { private_key, endorsements }
    await replacePrivate(path, textOf(after))
    kept = after
    signer = next
    return trust()
  }

  let last: Promise<unknown> = Promise.resolve()
  const rotate = (): Promise<TrustBody> => {
    const mine = last.then(replace)
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
  }
}

const textOf = (kept: Kept): string => `${JSON.stringify(kept, null, 2)}\n`

const make = async (path: string): Promise<string> => {
  const text = textOf({ private_key: newPrivateKey(), endorsements: [] })
  return (await createPrivate(path, text)) ? text : ((await readPrivate(path)) ?? '')
}

const understand = (text: string, path: string): Kept => {
  try {
    const kept = Kept.parse(JSON.parse(text))
    signerOf(kept.private_key)
    return kept
  } catch (cause) {
    throw new ShoalError('store_unavailable', `${path} is damaged; restore it`, { cause })
  }
}
