import { createHash } from 'node:crypto'

const C1 = 0xcc9e2d51
const C2 = 0x1b873593

const rotate = (value: number, bits: number): number => (value << bits) | (value >>> (32 - bits))

const mixBlock = (block: number): number => Math.imul(rotate(Math.imul(block, C1), 15), C2)

const mixEnd = (value: number): number => {
  let hash = value
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return hash ^ (hash >>> 16)
}

/** MurmurHash3 x86 32 with seed 0, signed (reference implementation of its author, 2011). */
export const murmurHash3 = (bytes: Buffer): number => {
  const end = bytes.length - (bytes.length % 4)
  let hash = 0
  for (let at = 0; at < end; at += 4)
    hash = (Math.imul(rotate(hash ^ mixBlock(bytes.readInt32LE(at)), 13), 5) + 0xe6546b64) | 0
  if (end < bytes.length) {
    const tail = Buffer.alloc(4)
    bytes.copy(tail, 0, end)
    hash ^= mixBlock(tail.readInt32LE(0))
  }
  return mixEnd(hash ^ bytes.length) | 0
}

/** Hash by which search engines of devices index favicons: of base64 in lines of 76 characters. */
export const hashFavicon = (bytes: Buffer): { md5: string; mmh3: number; bytes: number } => {
  const lines = bytes.toString('base64').replaceAll(/.{1,76}/g, '$&\n')
  return {
    md5: createHash('md5').update(bytes).digest('hex'),
    mmh3: murmurHash3(Buffer.from(lines)),
    bytes: bytes.length,
  }
}
