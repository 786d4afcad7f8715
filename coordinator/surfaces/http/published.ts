import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { nextTurn, systemRuntime } from '../../../shared/runtime.ts'
import type { RouteDocs } from './route-docs.ts'

const MAX_AGE_SECONDS = 60
/** Nothing in a document runs, loads or sends anything. */
export const PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
/**
 * Bytes of a document that a connection is given in one turn of the event loop: the kernel takes a
 * whole document at once, and encryption copies what it is given.
 */
const SLICE_BYTES = 64 * 1024

const packers = {
  br: (bytes: Buffer) =>
    promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: (bytes: Buffer) => promisify(gzip)(bytes),
}
type Encoding = keyof typeof packers
const ENCODINGS: readonly Encoding[] = ['br', 'gzip']

/** The bytes of a document in one encoding. */
interface Representation {
  bytes: Buffer
  etag: string
  encoding?: Encoding
}

/** A document as ready-made bytes: serialized once, and compressed once for each encoding. */
export class PublishedDocument {
  readonly #type: string
  readonly #hash: string
  readonly #plain: Representation
  readonly #packed = new Map<Encoding, Promise<Representation>>()

  /** @param type media type, which is sent with the charset */
  constructor(text: string, type: 'application/json' | 'text/html') {
    this.#type = `${type}; charset=utf-8`
    const bytes = Buffer.from(text)
    this.#hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 27)
    this.#plain = { bytes, etag: `"${this.#hash}"` }
  }

  /** Sends the document in the best accepted encoding, or 304 to a reader that has it. */
  async send(request: FastifyRequest, reply: FastifyReply, hasCurrent = hasTag): Promise<unknown> {
    const { bytes, etag, encoding } = await this.#choose(request.headers['accept-encoding'])
    reply.header('etag', etag).header('cache-control', `public, max-age=${MAX_AGE_SECONDS}`)
    if (hasCurrent(request, etag)) return reply.code(304).send()
    if (encoding !== undefined) reply.header('content-encoding', encoding)
    reply.type(this.#type)
    if (bytes.length <= SLICE_BYTES) return reply.send(bytes)
    return reply
      .header('content-length', bytes.length)
      .send(Readable.from(slicesOf(bytes), { highWaterMark: 1 }))
  }

  #choose(accepted: string | undefined): Representation | Promise<Representation> {
    const encoding = ENCODINGS.find(each => accepts(accepted, each))
    if (encoding === undefined) return this.#plain
    const packed = this.#packed.get(encoding) ?? this.#pack(encoding)
    this.#packed.set(encoding, packed)
    return packed
  }

  async #pack(encoding: Encoding): Promise<Representation> {
    const bytes = await packers[encoding](this.#plain.bytes)
    return { bytes, etag: `"${this.#hash}-${encoding}"`, encoding }
  }
}

/**
 * Serves a document that is the same for every reader and for the life of the process: created at
 * the first request, when every route is registered and the port is known, and identified by its
 * ETag.
 */
export const createPublishedRoute = (
  app: FastifyInstance,
  url: string,
  docs: RouteDocs,
  make: () => Promise<string>,
): void => {
  const type = docs.answer === 'html' ? 'text/html' : 'application/json'
  let made: Promise<PublishedDocument> | undefined
  app.get(url, { config: { access: 'none', docs } }, async (request, reply) => {
    made ??= make().then(text => new PublishedDocument(text, type))
    const document = await made
    reply.header('content-security-policy', PAGE_POLICY)
    reply.header('vary', 'Accept-Encoding, Authorization')
    return document.send(request, reply)
  })
}

async function* slicesOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    yield bytes.subarray(at, at + SLICE_BYTES)
    await nextTurn(systemRuntime)
  }
}

/** RFC 9110, sections 12.5.1 and 12.5.3, without wildcards and without an order of preference. */
export const accepts = (header: string | undefined, wanted: string): boolean =>
  (header ?? '').split(',').some(part => {
    const [name = '', ...parameters] = part.split(';').map(each => each.trim().toLowerCase())
    return name === wanted && !parameters.some(each => /^q=0(\.0*)?$/.test(each))
  })

const hasTag = ({ headers }: FastifyRequest, etag: string): boolean =>
  hasMatchingTag(headers['if-none-match'], etag)

/** RFC 9110, section 13.1.2: a list of tags or `*`, compared weakly. */
export const hasMatchingTag = (header: string | undefined, etag: string): boolean =>
  header === '*' || (header ?? '').split(',').some(tag => tag.trim().replace(/^W\//, '') === etag)
