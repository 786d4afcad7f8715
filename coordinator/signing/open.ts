import { openSealing, type Sealing } from './sealing.ts'
import { openSigning, type Signing } from './signing.ts'

export interface SigningParts {
  config: { state_dir: string }
}

/** The keys of the coordinator: one to sign with, one to seal secrets with. */
export const openSigningKeys = async ({
  config: { state_dir },
}: SigningParts): Promise<{ signing: Signing; sealing: Sealing }> => ({
  signing: await openSigning(state_dir),
  sealing: await openSealing(state_dir),
})
