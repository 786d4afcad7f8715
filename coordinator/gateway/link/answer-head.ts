import type { AnswerHeaders } from '../../fleet/cells/cell-link.ts'
import { ERROR_CODE, SessionFault, StreamFault } from './fault.ts'
import { decodeHuffman } from './huffman.ts'
import { STATIC_TABLE } from './static-table.ts'

/** A decoded header block: the head of an answer, or its trailers, which have no status. */
export interface DecodedHead {
  status: number | undefined
  headers: AnswerHeaders
}

/** Limit of the header list of one block: names, values and 32 bytes per field (RFC 9113, 6.5.2). */
export const MAX_LIST_BYTES = 64 * 1024
const FIELD_BYTES = 32

/** Decoded blocks by their bytes: many answers have the same head within a second. */
const cache = new Map<string, DecodedHead>()
const MAX_CACHED = 256
const MAX_CACHED_BYTES = 512

/**
 * Decodes a header block (RFC 7541). The peer's dynamic table is disabled by our settings, so no
 * block depends on another.
 * @throws StreamFault for a head that is not valid, SessionFault for a block that cannot be decoded
 */
export const readAnswerHead = (bytes: Buffer, start: number, end: number): DecodedHead => {
  if (end - start > MAX_CACHED_BYTES) return new BlockReader(bytes, start, end).read()
  const key = bytes.toString('latin1', start, end)
  const known = cache.get(key)
  if (known !== undefined) return known
  const head = new BlockReader(bytes, start, end).read()
  if (cache.size >= MAX_CACHED) cache.clear()
  cache.set(key, head)
  return head
}

class BlockReader {
  readonly #bytes: Buffer
  readonly #end: number
  #at: number
  #listBytes = 0
  #status: number | undefined
  /** The object has no prototype, since a cell may name a header `__proto__`. */
  readonly #headers: Record<string, string> = Object.create(null)
  #hasFields = false

  constructor(bytes: Buffer, start: number, end: number) {
    this.#bytes = bytes
    this.#at = start
    this.#end = end
  }

  read(): DecodedHead {
    while (this.#at < this.#end) this.#readField()
    return { status: this.#status, headers: this.#headers }
  }

  /** Reads one field representation (RFC 7541, section 6). */
  #readField(): void {
    const first = this.#bytes[this.#at] as number
    if (first & 0x80) {
      const [name, value] = staticEntry(this.#readInteger(7))
      this.#addField(name, value)
    } else if ((first & 0xe0) === 0x20) {
      if (this.#readInteger(5) > 0 || this.#listBytes > 0)
        throw unreadable('a dynamic table, which was not allowed')
    } else {
      const index = this.#readInteger(first & 0x40 ? 6 : 4)
      const name = index > 0 ? staticEntry(index)[0] : this.#readText()
      this.#addField(name, this.#readText())
    }
  }

  /** Reads an integer (RFC 7541, section 5.1). */
  #readInteger(prefixBits: number): number {
    const most = 2 ** prefixBits - 1
    let value = this.#readByte() & most
    if (value < most) return value
    for (let shift = 0; shift <= 21; shift += 7) {
      const byte = this.#readByte()
      value += (byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
    throw unreadable('an integer that is too large')
  }

  #readByte(): number {
    if (this.#at >= this.#end) throw unreadable('a block that ends too early')
    return this.#bytes[this.#at++] as number
  }

  /** Reads a string literal (RFC 7541, section 5.2). */
  #readText(): string {
    const isHuffman = ((this.#bytes[this.#at] ?? 0) & 0x80) !== 0
    const length = this.#readInteger(7)
    const start = this.#at
    const end = start + length
    if (end > this.#end) throw unreadable('a block that ends too early')
    this.#at = end
    return isHuffman
      ? decodeHuffman(this.#bytes, start, end)
      : this.#bytes.toString('latin1', start, end)
  }

  /** Adds a field that is valid in an answer (RFC 9113, sections 8.2 and 8.3). */
  #addField(name: string, value: string): void {
    this.#listBytes += name.length + value.length + FIELD_BYTES
    if (this.#listBytes > MAX_LIST_BYTES) throw new StreamFault('a header list over the limit')
    if (BAD_VALUE.test(value)) throw new StreamFault(`a value of ${name} with an invalid character`)
    if (name === ':status') this.#setStatus(value)
    else {
      if (!NAME.test(name) || CONNECTION_FIELDS.has(name))
        throw new StreamFault('an invalid field name')
      this.#hasFields = true
      const before = this.#headers[name]
      this.#headers[name] = before === undefined ? value : `${before}, ${value}`
    }
  }

  #setStatus(value: string): void {
    if (this.#hasFields || this.#status !== undefined || !STATUS.test(value))
      throw new StreamFault('an invalid status')
    this.#status = Number(value)
  }
}

const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/
const STATUS = /^[1-9]\d\d$/
// characters that node:http refuses to write in a header value
const BAD_VALUE = /[^\t\x20-\x7e\x80-\xff]/
const CONNECTION_FIELDS = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
])

const staticEntry = (index: number): readonly [name: string, value: string] => {
  const found = STATIC_TABLE[index]
  if (index === 0 || found === undefined) throw unreadable('an index outside the static table')
  return found
}

const unreadable = (what: string): SessionFault =>
  new SessionFault(ERROR_CODE.compression, `a header block with ${what}`)
