import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto'
import * as z from 'zod'
import { ShoalError } from '../../shared/errors.ts'

/**
 * Parameters of scrypt (RFC 7914) from the OWASP Password Storage Cheat Sheet: each guess costs 128
 * MiB of memory and some tenths of a second.
 */
const KDF = { name: 'scrypt', n: 131_072, r: 8, p: 1 } as const
const KEY_BYTES = 32
const SALT_BYTES = 16
/** Length of the initialization vector (NIST SP 800-38D, section 8.2). */
const IV_BYTES = 12
const TAG_BYTES = 16
const CONTEXT = Buffer.from('shoal-backup/1')
const MIN_PASSPHRASE_CHARS = 12

const base64 = (bytes: number) =>
  z.base64().refine(text => Buffer.from(text, 'base64').length === bytes)

/** Sealed bytes with the parameters that open them. */
export const SealedFile = z.strictObject({
  kdf: z.strictObject({
    name: z.literal(KDF.name),
    n: z.literal(KDF.n),
    r: z.literal(KDF.r),
    p: z.literal(KDF.p),
    salt: base64(SALT_BYTES),
  }),
  cipher: z.literal('aes-256-gcm'),
  iv: base64(IV_BYTES),
  tag: base64(TAG_BYTES),
  data: z.base64(),
})
export type SealedFile = z.output<typeof SealedFile>

/** Throws `wrong_usage` for a passphrase that is missing or too short. */
export const requirePassphrase = (passphrase: string | undefined): string => {
  if (passphrase === undefined || passphrase === '')
    throw new ShoalError(
      'wrong_usage',
      'the passphrase of the backup is missing: give --passphrase-file, or set SHOAL_BACKUP_PASSPHRASE or backup.passphrase_file',
    )
  if (passphrase.length >= MIN_PASSPHRASE_CHARS) return passphrase
  throw new ShoalError(
    'wrong_usage',
    `the passphrase of the backup is too short: it needs at least ${MIN_PASSPHRASE_CHARS} characters`,
  )
}

/** Encrypts bytes with a key that is derived from the passphrase. */
export const sealBytes = async (bytes: Buffer, passphrase: string): Promise<SealedFile> => {
  const salt = randomBytes(SALT_BYTES)
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', await deriveKey(passphrase, salt), iv)
  cipher.setAAD(CONTEXT)
  const data = Buffer.concat([cipher.update(bytes), cipher.final()])
  return {
    kdf: { ...KDF, salt: salt.toString('base64') },
    cipher: 'aes-256-gcm',
    iv: iv.toString('base64'),
    tag: cipher.getAuthTag().toString('base64'),
    data: data.toString('base64'),
  }
}

/** Throws `invalid_request` for another passphrase and for changed bytes. */
export const openSealed = async (
  { kdf, iv, tag, data }: SealedFile,
  passphrase: string,
): Promise<Buffer> => {
  const key = await deriveKey(passphrase, Buffer.from(kdf.salt, 'base64'))
  const options = { authTagLength: TAG_BYTES }
  const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(iv, 'base64'), options)
  decipher.setAAD(CONTEXT)
  decipher.setAuthTag(Buffer.from(tag, 'base64'))
  try {
    return Buffer.concat([decipher.update(Buffer.from(data, 'base64')), decipher.final()])
  } catch (cause) {
    const message = 'the passphrase does not open the secrets of the backup, or they were changed'
    throw new ShoalError('invalid_request', message, { cause })
  }
}

const deriveKey = (passphrase: string, salt: Buffer): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const { n, r, p } = KDF
    // these parameters need more memory than the default maxmem of Node.js
    const options = { N: n, r, p, maxmem: 256 * n * r }
    scrypt(passphrase.normalize('NFC'), salt, KEY_BYTES, options, (error, key) =>
      error === null ? resolve(key) : reject(error),
    )
  })
