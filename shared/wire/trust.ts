import * as z from 'zod'
import { isSignedBy, PublicKey, Signature } from '../signing.ts'

/** One key of the coordinator's, vouched for by the one before. */
export const Endorsement = z.object({
  key: PublicKey,
  previous: PublicKey,
  /** By `previous`, over `key` and `previous`. */
  signature: Signature,
})
export type Endorsement = z.infer<typeof Endorsement>
export const ENDORSE_PURPOSE = 'endorse'

/** So many keep a message within a packet of the control plane. */
export const MAX_ENDORSEMENTS = 1000

/** Body of the `trust` topic: the key the coordinator signs with now, and how it came to it. */
export const TrustBody = z.object({
  signing_key: PublicKey,
  /** Oldest first. */
  endorsements: z.array(Endorsement).max(MAX_ENDORSEMENTS),
})
export type TrustBody = z.infer<typeof TrustBody>

/**
 * The coordinator's key as far as somebody may believe it who has pinned an older one: every step
 * from that one to the current one must be signed. Undefined when there is no such way.
 */
export const followedKey = (
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
