import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { promisify } from 'node:util'
import * as z from 'zod'
import { canonicalJson } from './canonical-json.ts'
import { ShoalError } from './errors.ts'
import { createPrivate, readPrivate } from './private-file.ts'

const verifyLater = promisify(verify)

/** An ed25519 public key: its 32 bytes (RFC 8032) in base64url. */
export const PublicKey = z.string().regex(/^[\w-]{43}$/)
/** An ed25519 signature: its 64 bytes in base64url. */
export const Signature = z.string().regex(/^[\w-]{86}$/)

/** Signs messages of this process, so that their origin can be proven. */
export interface Signer {
  publicKey: string
  /**
   * Signs the canonical JSON of a value. The purpose (`command`, `ack`) is part of the signed
   * bytes: a signature for one purpose is invalid for any other.
   */
  sign(purpose: string, value: unknown): string
}

/** True when the owner of the key signed exactly this value for this purpose. Never throws. */
export const isSignedBy = (
  publicKey: string,
  purpose: string,
  value: unknown,
  signature: string,
): boolean => {
  if (!PublicKey.safeParse(publicKey).success || !Signature.safeParse(signature).success)
    return false
  try {
    const bytes = Buffer.from(signature, 'base64url')
    return verify(null, encodeSigned(purpose, value), publicKeyOf(publicKey), bytes)
  } catch {
    return false
  }
}

/**
 * Checks a signature as `isSignedBy` does, but on another thread: for many at once. Never rejects.
 */
export const isSignedByLater = async (
  publicKey: string,
  purpose: string,
  value: unknown,
  signature: string,
): Promise<boolean> => {
  if (!PublicKey.safeParse(publicKey).success || !Signature.safeParse(signature).success)
    return false
  try {
    const bytes = Buffer.from(signature, 'base64url')
    return await verifyLater(null, encodeSigned(purpose, value), publicKeyOf(publicKey), bytes)
  } catch {
    return false
  }
}

/** Adds the signer's key id to a message, and a signature over all other fields. */
export const signMessage = <T extends object>(purpose: string, body: T, signer: Signer) => {
  const named = { ...body, key_id: signer.publicKey }
  return { ...named, signature: signer.sign(purpose, named) }
}

/** True when the owner of the key signed exactly this message. */
export const isGenuine = (
  purpose: string,
  message: { signature: string },
  publicKey: string,
): boolean => {
  const { signature, ...body } = message
  return isSignedBy(publicKey, purpose, body, signature)
}

/** Creates a private key in its stored form: PKCS #8 in PEM. */
export const generatePrivateKey = (): string =>
  generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

/** Throws for text that is not an ed25519 private key. */
export const createSigner = (privateKey: string): Signer => {
  const key = createPrivateKey(privateKey)
  if (key.asymmetricKeyType !== 'ed25519') throw new TypeError('the key is not an ed25519 key')
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' })
  return {
    publicKey: x,
    sign: (purpose, value) => sign(null, encodeSigned(purpose, value), key).toString('base64url'),
  }
}

/**
 * Opens the signer whose private key is in the file, and creates the file if it is missing. A
 * damaged file throws `store_unavailable` and is never replaced: others have pinned its key.
 */
export const openSigner = async (path: string): Promise<Signer> => {
  const text = (await readPrivate(path)) ?? (await makeKey(path))
  try {
    return createSigner(text)
  } catch (cause) {
    throw new ShoalError(
      'store_unavailable',
      `${path} does not hold a valid signing key; restore it from a backup`,
      { cause },
    )
  }
}

const makeKey = async (path: string): Promise<string> => {
  const text = generatePrivateKey()
  return (await createPrivate(path, text)) ? text : ((await readPrivate(path)) ?? '')
}

const encodeSigned = (purpose: string, value: unknown): Buffer =>
  Buffer.from(`shoal ${purpose}\n${canonicalJson(value)}`)

const publicKeyOf = (x: string): KeyObject =>
  createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
