import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'

/** How the secrets of a backup are sealed: for the holders of age keys, else with a passphrase. */
export interface SealWith {
  passphrase?: string | undefined
  /** Work factor of scrypt for the passphrase, log2; 17 by default. */
  workFactor?: number
  /** Public keys, `age1…`. */
  recipients?: readonly string[] | undefined
}

/** What opens the secrets of a backup. */
export interface OpenWith {
  passphrase?: string | undefined
  /** Secret keys, `AGE-SECRET-KEY-1…`. */
  identities?: readonly string[] | undefined
}

/** Public key of age (age-encryption.org/v1; Bech32), for X25519 or with a post-quantum part. */
export const AgeRecipient = z
  .string()
  .regex(/^age1[02-9ac-hj-np-z]{10,4000}$/, 'must be a public key of age: age1…')

/**
 * Work factor of scrypt, log2: a guess costs 128 MiB of memory and some tenths of a second (OWASP
 * Password Storage Cheat Sheet).
 */
const WORK_FACTOR = 17
const MIN_PASSPHRASE_CHARS = 12

/** Throws `wrong_usage` without a recipient and without a passphrase of at least 12 characters. */
export const requireSeal = ({ passphrase, recipients = [] }: SealWith): void => {
  if (recipients.length > 0) return
  requirePassphrase(
    passphrase,
    'give --passphrase-file or --recipient, set SHOAL_BACKUP_PASSPHRASE, backup.passphrase_file or backup.recipients, or type it on a terminal',
  )
  if ((passphrase ?? '').length < MIN_PASSPHRASE_CHARS)
    throw new ShoalError(
      'wrong_usage',
      `the passphrase of the backup is too short: it needs at least ${MIN_PASSPHRASE_CHARS} characters`,
    )
}

/** Throws `wrong_usage` without what opens the secrets. */
export const requireOpen = (
  { passphrase, identities = [] }: OpenWith,
  sealedFor: 'passphrase' | 'age',
): void => {
  if (sealedFor === 'passphrase')
    requirePassphrase(
      passphrase,
      'give --passphrase-file, set SHOAL_BACKUP_PASSPHRASE or backup.passphrase_file, or type it on a terminal',
    )
  else if (identities.length === 0)
    throw new ShoalError(
      'wrong_usage',
      'the age key of the backup is missing: give --identity-file',
    )
}

const requirePassphrase = (passphrase: string | undefined, remedy: string): void => {
  if (passphrase === undefined || passphrase === '')
    throw new ShoalError('wrong_usage', `the passphrase of the backup is missing: ${remedy}`)
}

/** Encrypts a text as a file of age. Throws `wrong_usage` for a recipient that is not a key. */
export const sealText = async (text: string, sealWith: SealWith): Promise<Uint8Array> => {
  requireSeal(sealWith)
  // loaded only where it is used: it takes 6 MB
  const { Encrypter } = await import('age-encryption')
  const encrypter = new Encrypter()
  const { passphrase, workFactor = WORK_FACTOR, recipients = [] } = sealWith
  try {
    for (const recipient of recipients) encrypter.addRecipient(recipient)
  } catch (cause) {
    throw new ShoalError('wrong_usage', 'a recipient is not a public key of age', { cause })
  }
  if (recipients.length === 0) {
    encrypter.setScryptWorkFactor(workFactor)
    encrypter.setPassphrase((passphrase ?? '').normalize('NFC'))
  }
  return encrypter.encrypt(text)
}

/** Throws `invalid_request` for another passphrase or key and for changed bytes. */
export const openSealed = async (sealed: Uint8Array, openWith: OpenWith): Promise<string> => {
  const { Decrypter } = await import('age-encryption')
  const { passphrase, identities = [] } = openWith
  try {
    const decrypter = new Decrypter()
    for (const identity of identities) decrypter.addIdentity(identity)
    if (passphrase !== undefined) decrypter.addPassphrase(passphrase.normalize('NFC'))
    return await decrypter.decrypt(sealed, 'text')
  } catch (cause) {
    const given = identities.length > 0 ? 'age key' : 'passphrase'
    throw new ShoalError(
      'invalid_request',
      `the ${given} does not open the secrets of the backup, or they were changed`,
      { cause },
    )
  }
}
