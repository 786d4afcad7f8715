import { openSealing, type SecretSealer } from './sealing.ts'
import { openSigning, type SigningKey } from './signing.ts'

interface SigningParts {
  config: { state_dir: string }
}

/** The keys of the coordinator: one to sign with, one to seal secrets with. */
export const openSigningKeys = async ({
  config: { state_dir },
}: SigningParts): Promise<{ signing: SigningKey; sealing: SecretSealer }> => ({
  signing: await openSigning(state_dir),
  sealing: await openSealing(state_dir),
})
