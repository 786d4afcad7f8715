import * as z from 'zod'
import { isSignedBy, PublicKey, Signature, type Signer } from '../signing.ts'

/**
 * Newest row of the coordinator's audit, signed by it. Its holder can later detect whether rows up
 * to it were changed or removed.
 */
export const AuditHead = z.strictObject({
  seq: z.int().positive(),
  /** SHA-256 of the row, hexadecimal. */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  /** Unix milliseconds by the coordinator's clock. */
  at: z.int().nonnegative(),
  key_id: PublicKey,
  signature: Signature,
})
export type AuditHead = z.infer<typeof AuditHead>

const PURPOSE = 'audit-head'

export const signHead = (
  head: Pick<AuditHead, 'seq' | 'hash' | 'at'>,
  signer: Signer,
): AuditHead => {
  const named = { ...head, key_id: signer.publicKey }
  return { ...named, signature: signer.sign(PURPOSE, named) }
}

/** True when the owner of the key signed exactly this head. */
export const isGenuineHead = ({ signature, ...body }: AuditHead, publicKey: string): boolean =>
  body.key_id === publicKey && isSignedBy(publicKey, PURPOSE, body, signature)
