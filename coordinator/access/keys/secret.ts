import { hash, randomBytes, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** Prefix of every API key (interface specification, section 5). */
export const KEY_PREFIX = 'svc-dev-'
/** Prefix of every join token. */
export const TOKEN_PREFIX = 'shl_join_'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const ID_CHARACTERS = 8
/** Length of the secret: 256 bits in base 62. */
const SECRET_CHARACTERS = 43
/** Length of the checksum: 32 bits in base 62. */
const CHECKSUM_CHARACTERS = 6

interface Secret {
  id: string
  /** Complete text, shown once. */
  text: string
  /** Stored digest of the secret. */
  digest: string
}

/**
 * Format `<prefix><8 characters id>_<43 characters secret><6 characters checksum>`, all base 62.
 * The checksum is the CRC-32 of everything before it, so that noise is refused without a look-up,
 * and scanners for leaked secrets can recognise a real one.
 */
export const newSecret = (prefix: string, id: string = newSecretId()): Secret => {
  const body = `${prefix}${id}_${randomSecret()}`
  const text = withChecksum(body)
  return { id, text, digest: digestOf(text).toString('hex') }
}

/** Returns the id of a well-formed secret; undefined for any other text. */
export const parseSecret = (prefix: string, text: string): string | undefined => {
  const idEnd = prefix.length + ID_CHARACTERS
  const bodyEnd = idEnd + 1 + SECRET_CHARACTERS
  if (text.length !== bodyEnd + CHECKSUM_CHARACTERS || !text.startsWith(prefix)) return undefined
  if (text[idEnd] !== '_' || !BASE62.test(text.slice(idEnd + 1))) return undefined
  if (text.slice(bodyEnd) !== checksum(text.slice(0, bodyEnd))) return undefined
  return text.slice(prefix.length, idEnd)
}

/** Completes a secret by appending the checksum to the part before it. */
export const withChecksum = (body: string): string => body + checksum(body)

const BASE62 = /^[0-9A-Za-z]+$/

/** Format of a `randomSecret`. */
export const SECRET: RegExp = new RegExp(`^[0-9A-Za-z]{${SECRET_CHARACTERS}}$`)

/** Returns 256 random bits as 43 characters of base 62. */
export const randomSecret = (): string =>
  base62(BigInt(`0x${randomBytes(32).toString('hex')}`), SECRET_CHARACTERS)

/** Digest of a secret: SHA-256 suffices for 256 random bits, which no dictionary contains. */
export const digestOf = (text: string): Buffer => hash('sha256', text, 'buffer')

const newSecretId = (): string => {
  let id = ''
  while (id.length < ID_CHARACTERS) id += ALPHABET[randomInt(ALPHABET.length)]
  return id
}

/** Plain numbers for speed: this is on the path of every request, and 32 bits fit into one. */
const checksum = (text: string): string => {
  let digits = ''
  for (let rest = crc32(text); digits.length < CHECKSUM_CHARACTERS; rest = Math.floor(rest / 62))
    digits = ALPHABET.charAt(rest % 62) + digits
  return digits
}

const base62 = (value: bigint, characters: number): string => {
  let text = ''
  for (let rest = value; text.length < characters; rest /= 62n) {
    text = ALPHABET.charAt(Number(rest % 62n)) + text
  }
  return text
}
