import { ShoalError } from '../../../shared/errors.ts'
import type { CellRequest } from '../../fleet/cells/cell-link.ts'
import { STATIC_TABLE } from './static-table.ts'

/** Limit of a request head; those of clients have at most 16 KiB, the server's limit. */
const MAX_BLOCK_BYTES = 64 * 1024
/** Upper bound of an encoded length, in bytes. */
const NUMBER_BYTES = 4
/** Length below which a loop is faster than a native call. */
const SHORT = 24

export const requestBlock = Buffer.allocUnsafeSlow(MAX_BLOCK_BYTES)

/** Encoded fields of the static table (RFC 7541, appendix A). */
const METHOD = { GET: 0x82, POST: 0x83 } as const
/** Encoded `:scheme: http` and `:authority: cell`. */
const FIXED = Buffer.from([0x86, 0x01, 4, 0x63, 0x65, 0x6c, 0x6c])
const PATH = 4
/** Dynamic table size update to 0 (RFC 7541, section 6.3). */
const NO_TABLE = 0x20

/**
 * Encodes the head of a request into `requestBlock` and returns its length. Values are written as
 * they are: a dynamic table and Huffman coding take more time than they save here. The first block of
 * a session announces that there is no dynamic table.
 *
 * @throws ShoalError headers_too_large
 */
export const writeRequestHead = (request: CellRequest, isFirst: boolean): number => {
  let at = 0
  if (isFirst) requestBlock[at++] = NO_TABLE
  requestBlock[at++] = METHOD[request.method]
  at += FIXED.copy(requestBlock, at)
  requestBlock[at++] = PATH
  at = writeString(request.path, at)
  const { headers = {} } = request
  for (const name in headers) {
    const value = headers[name]
    if (value === undefined) continue
    at += requireRoom(at, encodeName(name)).copy(requestBlock, at)
    at = writeString(String(value), at)
  }
  return at
}

const writeString = (text: string, from: number): number => {
  const { length } = requireRoom(from, text)
  let at = writeInteger(requestBlock, length, 7, from)
  if (length >= SHORT) return at + requestBlock.write(text, at, length, 'latin1')
  for (let i = 0; i < length; i++) requestBlock[at++] = text.charCodeAt(i)
  return at
}

const requireRoom = <T extends { length: number }>(at: number, piece: T): T => {
  if (at + piece.length + NUMBER_BYTES > MAX_BLOCK_BYTES)
    throw new ShoalError(
      'headers_too_large',
      'the head of a request to a cell is larger than 64 KiB',
    )
  return piece
}

/** Writes an integer (RFC 7541, section 5.1); the bits above the prefix are 0. */
const writeInteger = (into: Buffer, value: number, prefixBits: number, from: number): number => {
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

/** Cache of encoded names. There are few; trace extensions may add some, so it is bounded. */
const names = new Map<string, Buffer>()
const MAX_NAMES = 64

const encodeName = (name: string): Buffer => {
  const known = names.get(name)
  if (known !== undefined) return known
  if (names.size >= MAX_NAMES) names.clear()
  const bytes = encodeNewName(name.toLowerCase())
  names.set(name, bytes)
  return bytes
}

/** Encodes the name of a literal field without indexing (RFC 7541, section 6.2.2). */
const encodeNewName = (name: string): Buffer => {
  const index = STATIC_TABLE.findIndex(entry => entry[0] === name)
  if (index > 0) return encodeInteger(index, 4)
  return Buffer.concat([
    Buffer.from([0]),
    encodeInteger(name.length, 7),
    Buffer.from(name, 'latin1'),
  ])
}

const encodeInteger = (value: number, prefixBits: number): Buffer => {
  const bytes = Buffer.alloc(NUMBER_BYTES)
  return bytes.subarray(0, writeInteger(bytes, value, prefixBits, 0))
}
