import { ERROR_CODE, SessionFault } from './fault.ts'

/**
 * Length in bits of the code of each byte (RFC 7541, appendix B); the last entry is the end of the
 * string. The code is canonical: codes of one length follow each other in the order of their bytes,
 * after those of the next shorter length.
 */
const LENGTHS = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
  28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5,
  6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
  7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6,
  7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23,
  23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22,
  22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22,
  23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27,
  27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25,
  24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
]
const END = 256

/** Builds the code of each byte with its length in bits. */
export const buildHuffmanCodes = (): { code: number; bits: number }[] => {
  const order = LENGTHS.map((bits, symbol) => ({ bits, symbol }))
  order.sort((a, b) => a.bits - b.bits || a.symbol - b.symbol)
  const codes: { code: number; bits: number }[] = []
  let code = 0
  let last = 0
  for (const { bits, symbol } of order) {
    code *= 2 ** (bits - last)
    last = bits
    codes[symbol] = { code, bits }
    code++
  }
  return codes
}

/** Bits of a table entry: whether a byte is complete and which one, or failure; then the next node. */
const HAS_BYTE = 0x10000
const BYTE_SHIFT = 20
const FAILS = 0x20000
const NODE = 0xffff

/** `table`: for each inner node and four bits, the next node and the byte that they complete. */
const { table, endings } = (() => {
  const nodes: [number, number][] = [[0, 0]]
  const leaves = new Map<string, number>()
  for (const [symbol, { code, bits }] of buildHuffmanCodes().entries()) {
    let node = 0
    for (let bit = bits - 1; bit >= 0; bit--) {
      const side = Math.floor(code / 2 ** bit) % 2 === 1 ? 1 : 0
      if (bit === 0) {
        leaves.set(`${node},${side}`, symbol)
        break
      }
      const children = nodes[node] as [number, number]
      if (children[side] === 0) children[side] = nodes.push([0, 0]) - 1
      node = children[side]
    }
  }
  const step = (from: number, bits: number): number => {
    let node = from
    let entry = 0
    for (let bit = 3; bit >= 0; bit--) {
      const side = (bits >> bit) & 1 ? 1 : 0
      const symbol = leaves.get(`${node},${side}`)
      if (symbol === END) return FAILS
      if (symbol !== undefined) entry = HAS_BYTE | (symbol << BYTE_SHIFT)
      node = symbol === undefined ? (nodes[node] as [number, number])[side] : 0
    }
    return entry | node
  }
  const table = Uint32Array.from({ length: nodes.length * 16 }, (_, at) => step(at >> 4, at & 15))
  // a string is padded with up to seven bits of the end-of-string code, all of them 1
  const endings = new Set([0])
  for (let node = 0, bits = 0; bits < 7; bits++) {
    node = (nodes[node] as [number, number])[1]
    endings.add(node)
  }
  return { table, endings }
})()

/** Upper bound of the decoded length: the shortest code has five bits. */
const maxTextBytes = (bytes: number): number => Math.ceil((bytes * 8) / 5)
let scratch = Buffer.allocUnsafeSlow(1024)

/**
 * Decodes a Huffman-coded string, one character per byte.
 *
 * @throws SessionFault for bytes that are not a valid encoding
 */
export const decodeHuffman = (bytes: Buffer, start: number, end: number): string => {
  if (maxTextBytes(end - start) > scratch.length)
    scratch = Buffer.allocUnsafeSlow(maxTextBytes(end - start))
  const text = scratch
  let node = 0
  let length = 0
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number
    const high = table[(node << 4) | (byte >> 4)] as number
    if (high & HAS_BYTE) text[length++] = high >>> BYTE_SHIFT
    const low = table[((high & NODE) << 4) | (byte & 15)] as number
    if (low & HAS_BYTE) text[length++] = low >>> BYTE_SHIFT
    if ((high | low) & FAILS) throw invalidString()
    node = low & NODE
  }
  if (!endings.has(node)) throw invalidString()
  return text.toString('latin1', 0, length)
}

const invalidString = (): SessionFault =>
  new SessionFault(ERROR_CODE.compression, 'an invalid Huffman-coded string')
