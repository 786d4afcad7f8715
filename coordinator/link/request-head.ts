import { ShoalError } from '../../shared/errors.ts'
import type { CellRequest } from '../fleet/cell-link.ts'
import { STATIC_TABLE } from './static-table.ts'

/** More than any request may have: its headers were read by a server that takes 16 KiB. */
const MAX_BLOCK_BYTES = 64 * 1024
/** A number in front of a string takes at most so much. */
const NUMBER_BYTES = 4
/** Below this a loop is quicker than a call out of the engine. */
const SHORT = 24

export const requestBlock = Buffer.allocUnsafeSlow(MAX_BLOCK_BYTES)

/** Fields of the static table, RFC 7541, appendix A, as they stand in a block. */
const METHOD = { GET: 0x82, POST: 0x83 } as const
/** `:scheme: http`, and `:authority: cell` as a name of the table with a text. */
const FIXED = Buffer.from([0x86, 0x01, 4, 0x63, 0x65, 0x6c, 0x6c])
const PATH = 4
/** The size of the peer's table for us is 0 from here on. */
const NO_TABLE = 0x20

/**
 * Writes the head of a request into `requestBlock` and says how long it is: texts as they are, with
 * no table and no Huffman code, which take more time than they save here. The first block of a
 * session says that there is no table.
 *
 * @throws ShoalError headers_too_large
 */
export const writeRequestHead = (request: CellRequest, isFirst: boolean): number => {
  let at = 0
  if (isFirst) requestBlock[at++] = NO_TABLE
  requestBlock[at++] = METHOD[request.method]
  at += FIXED.copy(requestBlock, at)
  requestBlock[at++] = PATH
  at = writeText(request.path, at)
  const { headers = {} } = request
  for (const name in headers) {
    const value = headers[name]
    if (value === undefined) continue
    at += room(at, nameOf(name)).copy(requestBlock, at)
    at = writeText(String(value), at)
  }
  return at
}

const writeText = (text: string, from: number): number => {
  const { length } = room(from, text)
  let at = writeNumber(requestBlock, length, 7, from)
  if (length >= SHORT) return at + requestBlock.write(text, at, length, 'latin1')
  for (let i = 0; i < length; i++) requestBlock[at++] = text.charCodeAt(i)
  return at
}

const room = <T extends { length: number }>(at: number, piece: T): T => {
  if (at + piece.length + NUMBER_BYTES > MAX_BLOCK_BYTES)
    throw new ShoalError('headers_too_large', 'the head of a request to a cell is too large')
  return piece
}

/** RFC 7541, section 5.1; the bits above the prefix are 0. */
const writeNumber = (into: Buffer, value: number, prefixBits: number, from: number): number => {
  const most = 2 ** prefixBits - 1
  let at = from
  if (value < most) {
    into[at++] = value
    return at
  }
  into[at++] = most
  let rest = value - most
  for (; rest >= 0x80; rest >>= 7) into[at++] = (rest & 0x7f) | 0x80
  into[at++] = rest
  return at
}

/** Names as they stand in a block. There are few; what an extension of traces adds is bounded. */
const names = new Map<string, Buffer>()
const MAX_NAMES = 64

const nameOf = (name: string): Buffer => {
  const known = names.get(name)
  if (known !== undefined) return known
  if (names.size >= MAX_NAMES) names.clear()
  const bytes = encodedName(name.toLowerCase())
  names.set(name, bytes)
  return bytes
}

/** A literal field without indexing, RFC 7541, section 6.2.2. */
const encodedName = (name: string): Buffer => {
  const index = STATIC_TABLE.findIndex(entry => entry[0] === name)
  if (index > 0) return numbered(index, 4)
  return Buffer.concat([Buffer.from([0]), numbered(name.length, 7), Buffer.from(name, 'latin1')])
}

const numbered = (value: number, prefixBits: number): Buffer => {
  const bytes = Buffer.alloc(NUMBER_BYTES)
  return bytes.subarray(0, writeNumber(bytes, value, prefixBits, 0))
}
