import { ShoalError } from '../../../shared/errors.ts'
import { openText, sealText } from '../secrets/cipher.ts'
import { createDataKeys, listDataKeys } from '../secrets/data-keys.ts'
import type { Secrets } from '../secrets/secrets.ts'

/**
 * Encrypts single values that have to be used again, and so cannot be kept as a digest: a copy of
 * the database does not reveal them.
 */
export interface SecretSealer {
  /** `context` says what it belongs to: it opens with the same context only. */
  seal(text: string, context: string): string
  /** Throws `store_unavailable` for what was not sealed here, or for something else. */
  open(sealed: string, context: string): string
}

/** Opens the sealing with the data keys that all coordinators of the store share. */
export const openSealing = async (
  secrets: Pick<Secrets, 'ensure' | 'onChange'>,
): Promise<SecretSealer> => {
  let keys = listDataKeys(await secrets.ensure('data-keys', () => createDataKeys([])))
  secrets.onChange('data-keys', text => {
    keys = listDataKeys(text)
  })
  return createSealing(() => keys)
}

/** The first key seals; all of them open. */
export const createSealing = (listKeys: () => readonly Buffer[]): SecretSealer => ({
  seal: (text, context) => sealText(listKeys()[0] as Buffer, text, context),
  open: (sealed, context) => {
    for (const key of listKeys()) {
      const text = openText(key, sealed, context)
      if (text !== undefined) return text
    }
    throw new ShoalError('store_unavailable', `a secret of ${context} cannot be opened`)
  },
})
