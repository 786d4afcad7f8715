import { randomBytes } from 'node:crypto'

/** Crockford's base 32 in lower case: no i, l, o, u. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

/** Random bytes are fetched in blocks: a call per id would dominate its cost. */
const BLOCK_BYTES = 8192
let block = randomBytes(BLOCK_BYTES)
let used = 0

const takeRandom = (bytes: number): Uint8Array => {
  if (used + bytes > BLOCK_BYTES) {
    block = randomBytes(BLOCK_BYTES)
    used = 0
  }
  used += bytes
  return block.subarray(used - bytes, used)
}

const base32 = (bytes: Uint8Array): string => {
  let text = ''
  for (const byte of bytes) text += ALPHABET[byte & 31]
  return text
}

const timePart = (now: number): string => {
  let text = ''
  for (let rest = now, i = 0; i < 10; i++, rest = Math.floor(rest / 32))
    text = ALPHABET[rest % 32] + text
  return text
}

/**
 * Creates an id that sorts by creation time: 10 characters of unix milliseconds, 16 random ones (80
 * bits), as in a ULID. `prefix` names the kind: `cell_01j…`.
 */
export const newId = (prefix: string, now: number = Date.now()): string =>
  `${prefix}_${timePart(now)}${base32(takeRandom(16))}`

/** Creates 128 random bits as 32 hexadecimal digits. For names, not for secrets. */
export const randomId = (): string => Buffer.from(takeRandom(16)).toString('hex')

/**
 * Cell id, created by the coordinator at enrolment; also the cell's MQTT client id and user name.
 */
export const CELL_ID = /^cell_[0-9a-hjkmnp-tv-z]{26}$/

/** Id of a coordinator process, created at each of its starts. */
export const REPLICA_ID = /^rep_\w{1,60}$/

/** Command id, created by the coordinator. */
export const COMMAND_ID = /^cmd_[0-9a-hjkmnp-tv-z]{26}$/

/** Device id: stable, and unique on its cell. */
export const DEVICE_ID = /^[A-Za-z0-9][\w.:-]{0,63}$/
