import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

/* AES-256-GCM over text. The sealed form is base64 of IV, tag and ciphertext. */

export const KEY_BYTES = 32
/** NIST SP 800-38D, 5.2.1.1: 96 random bits, fewer than 2^32 times with one key. */
const IV_BYTES = 12
const TAG_BYTES = 16

/** `context` says what the text belongs to: it opens with the same context only. */
export const sealText = (key: Buffer, text: string, context: string): string => {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(context))
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64')
}

/** Opens a sealed text; undefined for one that was sealed with another key or context, or was changed. */
export const openText = (key: Buffer, sealed: string, context: string): string | undefined => {
  const bytes = Buffer.from(sealed, 'base64')
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES), {
      authTagLength: TAG_BYTES,
    })
    decipher.setAAD(Buffer.from(context))
    decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
    const text = decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES))
    return Buffer.concat([text, decipher.final()]).toString('utf8')
  } catch {
    return undefined
  }
}
