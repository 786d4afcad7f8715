import type { AnswerHeaders } from '../fleet/cell-link.ts'
import { CODE, Malformed, SessionFault } from './fault.ts'
import { huffmanText } from './huffman.ts'
import { STATIC_TABLE } from './static-table.ts'

/** The head of an answer, or its trailers, which have no status. */
export interface AnswerHead {
  status: number | undefined
  headers: AnswerHeaders
}

/** Names and values of one block, 32 bytes more for each (RFC 9113, section 6.5.2). */
export const MAX_LIST_BYTES = 64 * 1024
const FIELD_BYTES = 32

/** Blocks that are alike come often: many answers have the same head within a second. */
const cache = new Map<string, AnswerHead>()
const MAX_CACHED = 256
const MAX_CACHED_BYTES = 512

/**
 * Reads a header block (RFC 7541) of a peer that was told to keep no table, so that no block depends
 * on another.
 *
 * @throws Malformed when it must not be used, SessionFault when it cannot be read
 */
export const readAnswerHead = (bytes: Buffer, start: number, end: number): AnswerHead => {
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
  /** Without a prototype: a cell may name a header as it likes. */
  readonly #headers: Record<string, string> = Object.create(null)
  #hasFields = false

  constructor(bytes: Buffer, start: number, end: number) {
    this.#bytes = bytes
    this.#at = start
    this.#end = end
  }

  read(): AnswerHead {
    while (this.#at < this.#end) this.#field()
    return { status: this.#status, headers: this.#headers }
  }

  /** RFC 7541, section 6. */
  #field(): void {
    const first = this.#bytes[this.#at] as number
    if (first & 0x80) {
      const [name, value] = entry(this.#integer(7))
      this.#add(name, value)
    } else if ((first & 0xe0) === 0x20) {
      if (this.#integer(5) > 0 || this.#listBytes > 0)
        throw unreadable('a table that was not allowed')
    } else {
      const index = this.#integer(first & 0x40 ? 6 : 4)
      const name = index > 0 ? entry(index)[0] : this.#text()
      this.#add(name, this.#text())
    }
  }

  /** RFC 7541, section 5.1. */
  #integer(prefixBits: number): number {
    const most = 2 ** prefixBits - 1
    let value = this.#byte() & most
    if (value < most) return value
    for (let shift = 0; shift <= 21; shift += 7) {
      const byte = this.#byte()
      value += (byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
    throw unreadable('a number that is too large')
  }

  #byte(): number {
    if (this.#at >= this.#end) throw unreadable('a block that ends too early')
    return this.#bytes[this.#at++] as number
  }

  #text(): string {
    const isHuffman = ((this.#bytes[this.#at] ?? 0) & 0x80) !== 0
    const length = this.#integer(7)
    const start = this.#at
    const end = start + length
    if (end > this.#end) throw unreadable('a block that ends too early')
    this.#at = end
    return isHuffman
      ? huffmanText(this.#bytes, start, end)
      : this.#bytes.toString('latin1', start, end)
  }

  /** RFC 9113, sections 8.2 and 8.3. */
  #add(name: string, value: string): void {
    this.#listBytes += name.length + value.length + FIELD_BYTES
    if (this.#listBytes > MAX_LIST_BYTES) throw new Malformed('more headers than were allowed')
    if (BAD_VALUE.test(value)) throw new Malformed(`${name} with a character that no header has`)
    if (name === ':status') this.#setStatus(value)
    else {
      if (!NAME.test(name) || OF_CONNECTIONS.has(name)) throw new Malformed('a name of no header')
      this.#hasFields = true
      const before = this.#headers[name]
      this.#headers[name] = before === undefined ? value : `${before}, ${value}`
    }
  }

  #setStatus(value: string): void {
    if (this.#hasFields || this.#status !== undefined || !STATUS.test(value))
      throw new Malformed('a status that is none')
    this.#status = Number(value)
  }
}

const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/
const STATUS = /^[1-9]\d\d$/
// what node:http refuses to write, and nothing of it
const BAD_VALUE = /[^\t\x20-\x7e\x80-\xff]/
const OF_CONNECTIONS = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
])

const entry = (index: number): readonly [name: string, value: string] => {
  const found = STATIC_TABLE[index]
  if (index === 0 || found === undefined) throw unreadable('a place in a table that is empty')
  return found
}

const unreadable = (what: string): SessionFault =>
  new SessionFault(CODE.compression, `a header block with ${what}`)
