import { ShoalError } from '../../../shared/errors.ts'
import { openText, sealText } from './cipher.ts'
import { readSealingKeys, type SealingKey } from './key-file.ts'
import type { StoredSecret } from './secret.table.ts'

/** The keys of one `sealing.key`, which open and seal rows of the table `secrets`. */
export class KeyRing {
  /** The file, for messages. */
  readonly path: string
  #keys: readonly SealingKey[]

  constructor(path: string, keys: readonly SealingKey[]) {
    this.path = path
    this.#keys = keys
  }

  /** Ids of the keys, in the order of the file. */
  get ids(): string[] {
    return this.#keys.map(({ id }) => id)
  }

  /** Reads the file again. Returns true when it has other keys; a missing file changes nothing. */
  async reread(): Promise<boolean> {
    const before = this.ids.join()
    this.#keys = (await readSealingKeys(this.path)) ?? this.#keys
    return this.ids.join() !== before
  }

  seal(keyId: string, name: string, text: string): string {
    return sealText(this.#find(keyId).bytes, text, contextOf(name))
  }

  /** Throws `config_invalid` for a row of another key, `store_unavailable` for a damaged one. */
  open({ name, keyId, sealed }: Pick<StoredSecret, 'name' | 'keyId' | 'sealed'>): string {
    const text = openText(this.#find(keyId).bytes, sealed, contextOf(name))
    if (text === undefined)
      throw new ShoalError('store_unavailable', `the secret ${name} in the store is damaged`)
    return text
  }

  #find(keyId: string): SealingKey {
    const key = this.#keys.find(({ id }) => id === keyId)
    if (key === undefined) throw createWrongKeyError(this.path, 'does not open')
    return key
  }
}

const contextOf = (name: string): string => `secret:${name}`

/** The error for a coordinator whose `sealing.key` is not the one of its store. */
export const createWrongKeyError = (path: string, fault: string): ShoalError =>
  new ShoalError(
    'config_invalid',
    `${path} ${fault} the secrets of the store: copy sealing.key from the state folder of a coordinator that uses this store, or from a backup`,
  )
