import { ShoalError } from '../../../shared/errors.ts'
import type { Ledger, SealedTrx } from '../store/store.ts'
import { EVEN_FROZEN } from './shared-secrets.ts'

/**
 * Deletes secrets that no key at hand opens, so that the next start creates new ones. Throws
 * `conflict` for secrets that are not lost.
 */
export const discardSecrets = (
  { sealed }: Pick<Ledger, 'sealed'>,
  keyIds: readonly string[],
  record: (trx: SealedTrx) => Promise<unknown>,
): Promise<number> =>
  sealed.write(async trx => {
    const rows = await trx.selectFrom('secrets').select('key_id').execute()
    if (rows.every(({ key_id }) => keyIds.includes(key_id)))
      throw new ShoalError('conflict', 'sealing.key opens the secrets of the store; none is lost')
    await trx.deleteFrom('secrets').execute()
    await record(trx)
    return rows.length
  }, EVEN_FROZEN)
