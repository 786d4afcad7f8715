import * as z from 'zod'
import { isSignedBy, PublicKey, Signature } from '../signing.ts'

/** A key of the coordinator, endorsed by the previous one. */
export const Endorsement = z.object({
  key: PublicKey,
  previous: PublicKey,
  /** Signature of `previous` over `key` and `previous`. */
  signature: Signature,
})
export type Endorsement = z.infer<typeof Endorsement>
export const ENDORSE_PURPOSE = 'endorse'

/** Most endorsements, so that a message fits into a packet of the control plane. */
export const MAX_ENDORSEMENTS = 1000

/** Body of the `trust` topic: the key that the coordinator signs with now, and its endorsements. */
export const TrustBody = z.object({
  signing_key: PublicKey,
  /** Endorsements, oldest first. */
  endorsements: z.array(Endorsement).max(MAX_ENDORSEMENTS),
})
export type TrustBody = z.infer<typeof TrustBody>

/**
 * The coordinator's current key, if the holder of an older pinned key can trust it: every step from
 * that key to the current one must be signed. Undefined otherwise.
 */
export const followEndorsements = (
  pinned: string,
  { signing_key, endorsements }: TrustBody,
): string | undefined => {
  let key = pinned
  for (const endorsement of endorsements) {
    if (key === signing_key) break
    if (endorsement.previous === key && isGood(endorsement)) key = endorsement.key
  }
  return key === signing_key ? key : undefined
}

const isGood = ({ key, previous, signature }: Endorsement): boolean =>
  isSignedBy(previous, ENDORSE_PURPOSE, { key, previous }, signature)
