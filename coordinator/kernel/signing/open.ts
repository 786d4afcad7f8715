import type { Secrets } from '../secrets/secrets.ts'
import { openSealing, type SecretSealer } from './sealing.ts'
import { openSigning, type SigningKey } from './signing.ts'

/** The keys of the fleet: one to sign with, and those that seal values in the store. */
export const openSigningKeys = async ({
  secrets,
}: {
  secrets: Secrets
}): Promise<{ signing: SigningKey; sealing: SecretSealer }> => ({
  signing: await openSigning(secrets),
  sealing: await openSealing(secrets),
})
