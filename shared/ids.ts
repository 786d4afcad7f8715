import { randomBytes } from 'node:crypto'

/** Crockford's base 32 in lower case: no i, l, o, u. */
const ALPHABET = Buffer.from('0123456789abcdefghjkmnpqrstvwxyz')

/** Random bytes are fetched in blocks: a call per id would dominate its cost. */
const BLOCK_BYTES = 8192
let block = randomBytes(BLOCK_BYTES)
let used = 0

/** Takes so many unused bytes of `block`; returns the index of the first. */
const takeRandom = (bytes: number): number => {
  if (used + bytes > BLOCK_BYTES) {
    block = randomBytes(BLOCK_BYTES)
    used = 0
  }
  used += bytes
  return used - bytes
}

const TIME_CHARS = 10
const RANDOM_CHARS = 16
/** Characters of the id that is being created: one text from bytes is cheaper than many joined. */
const chars = Buffer.alloc(TIME_CHARS + RANDOM_CHARS)

const writeTime = (now: number): void => {
  for (let rest = now, i = TIME_CHARS - 1; i >= 0; i--, rest = Math.floor(rest / 32))
    chars[i] = ALPHABET[rest % 32] as number
}

const writeRandom = (): void => {
  const from = takeRandom(RANDOM_CHARS)
  for (let i = 0; i < RANDOM_CHARS; i++)
    chars[TIME_CHARS + i] = ALPHABET[(block[from + i] as number) & 31] as number
}

/**
 * Creates an id that sorts by creation time: 10 characters of unix milliseconds, 16 random ones (80
 * bits), as in a ULID. `prefix` names the kind: `cell_01j…`.
 */
export const newId = (prefix: string, now: number = Date.now()): string => {
  writeTime(now)
  writeRandom()
  return `${prefix}_${chars.toString('latin1')}`
}

/** Time at which an id of `newId` was created, unix milliseconds; NaN for any other text. */
export const timeOfId = (id: string): number => {
  const [, time = ''] = /_([0-9a-hjkmnp-tv-z]{10})[0-9a-hjkmnp-tv-z]{16}$/.exec(id) ?? []
  if (time === '') return Number.NaN
  return [...time].reduce((sum, char) => sum * 32 + ALPHABET.indexOf(char), 0)
}

/** Creates 128 random bits as 32 hexadecimal digits. For names, not for secrets. */
export const randomId = (): string => {
  const from = takeRandom(16)
  return block.toString('hex', from, from + 16)
}

/**
 * Cell id, created by the coordinator at enrolment; also the cell's MQTT client id and user name.
 */
export const CELL_ID = /^cell_[0-9a-hjkmnp-tv-z]{26}$/

/** Id of a coordinator process, created at each of its starts. */
export const REPLICA_ID = /^rep_\w{1,60}$/

/** Command id, created by the coordinator. */
export const COMMAND_ID = /^cmd_[0-9a-hjkmnp-tv-z]{26}$/

/** Device id: a hash (see `createDeviceId`) and never a word, so that it is nobody's name. */
export const DEVICE_ID = /^dev_[0-9a-f]{20}$/
