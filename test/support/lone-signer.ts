import { createSigner, generatePrivateKey, type Signer } from '../../shared/signing.ts'

/** A signing key without a history: it vouches for itself alone. */
export const loneSigner = (signer: Signer = createSigner(generatePrivateKey())) => {
  const isOwn = (key: string): boolean => key === signer.publicKey
  return {
    ...signer,
    endorses: isOwn,
    witnesses: isOwn,
    headsVoidAt: () => 0,
    isCurrent: async () => true,
  }
}
