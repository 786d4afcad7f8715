import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { ShoalError } from '../../shared/errors.ts'
import { createPrivate, readPrivate } from '../../shared/private-file.ts'

/**
 * Keeps secrets that have to be used again, and so cannot be kept as a digest, out of the database
 * and its copies: AES-256-GCM with a key in a file of its own.
 */
export interface SecretSealer {
  /** `context` says what it belongs to: it opens with the same context only. */
  seal(text: string, context: string): string
  /** Throws `store_unavailable` for what was not sealed here, or for something else. */
  open(sealed: string, context: string): string
}

const KEY_BYTES = 32
/** NIST SP 800-38D, 5.2.1.1: 96 random bits, fewer than 2^32 times with one key. */
const IV_BYTES = 12
const TAG_BYTES = 16

/**
 * Opens the sealing with the key in the state folder, which is created at the first start. Throws
 * `store_unavailable` for a damaged key.
 */
export const openSealing = async (stateDir: string): Promise<SecretSealer> => {
  const path = join(stateDir, 'sealing.key')
  const text = (await readPrivate(path)) ?? (await make(path))
  const key = Buffer.from(text.trim(), 'base64')
  if (key.length !== KEY_BYTES)
    throw new ShoalError('store_unavailable', `${path} is damaged; restore it`)
  return createSealing(key)
}

const make = async (path: string): Promise<string> => {
  const text = `${randomBytes(KEY_BYTES).toString('base64')}\n`
  return (await createPrivate(path, text)) ? text : ((await readPrivate(path)) ?? '')
}

export const createSealing = (key: Buffer): SecretSealer => ({
  seal: (text, context) => {
    const iv = randomBytes(IV_BYTES)
    const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(context))
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
    return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64')
  },
  open: (sealed, context) => {
    const bytes = Buffer.from(sealed, 'base64')
    try {
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES), {
        authTagLength: TAG_BYTES,
      })
      decipher.setAAD(Buffer.from(context))
      decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
      const text = decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES))
      return Buffer.concat([text, decipher.final()]).toString('utf8')
    } catch (cause) {
      throw new ShoalError('store_unavailable', `a secret of ${context} cannot be opened`, {
        cause,
      })
    }
  },
})
