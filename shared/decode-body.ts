import type { IncomingHttpHeaders } from 'node:http'
import { type Readable, Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { ShoalError } from './errors.ts'

/** Content codings of request bodies (RFC 9110, section 8.4.1, and RFC 7932). */
const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
}

/** Codings that are accepted, for `Accept-Encoding` (RFC 9110, section 12.5.3). */
const ACCEPTED_CODINGS = 'gzip, deflate, br'

type Coded = Pick<IncomingHttpHeaders, 'content-encoding'>

/** True for a body that is longer when it is decoded. */
export const isCoded = ({ 'content-encoding': coding = '' }: Coded): boolean =>
  !['', 'identity'].includes(coding.trim().toLowerCase())

/** A decoded body; Fastify compares the bytes that came with their announced number. */
interface DecodedBody extends Readable {
  receivedEncodedLength: number
}

/**
 * Decodes a body by its Content-Encoding; one without a coding is returned as it is. Decoding ends
 * with `payload_too_large` after `maxBytes`, and with `invalid_request` for a body that is cut or
 * is not of its coding. Throws `unsupported_media_type` for another coding, and for several.
 */
export const decodeBody = <T extends Readable>(
  headers: Coded,
  body: T,
  maxBytes: number,
): T | DecodedBody => {
  if (!isCoded(headers)) return body
  const coding = headers['content-encoding']?.trim().toLowerCase() ?? ''
  const createDecoder = Object.hasOwn(DECODERS, coding) ? DECODERS[coding] : undefined
  if (createDecoder === undefined) throw createCodingError(coding)
  const decoder = createDecoder()
  const decoded = Object.assign(createBound(maxBytes), { receivedEncodedLength: 0 })
  body.on('data', (piece: Buffer) => {
    decoded.receivedEncodedLength += piece.length
  })
  body.once('error', error => decoded.destroy(error))
  decoder.once('error', cause => {
    const message = `the body is not valid ${coding}`
    decoded.destroy(new ShoalError('invalid_request', message, { cause }))
  })
  // the reader may have left before the error comes
  decoded.on('error', () => {})
  decoded.once('close', () => {
    body.unpipe(decoder)
    decoder.destroy()
  })
  body.pipe(decoder).pipe(decoded)
  return decoded
}

/** Passes on at most so many bytes: a small body may unpack to any size. */
const createBound = (maxBytes: number): Transform => {
  let bytes = 0
  return new Transform({
    transform(piece: Buffer, _encoding, done) {
      bytes += piece.length
      if (bytes <= maxBytes) done(null, piece)
      else done(new ShoalError('payload_too_large', 'the body is too large'))
    },
  })
}

const createCodingError = (coding: string): ShoalError => {
  const shown = JSON.stringify(coding.slice(0, 40))
  const message = `content-encoding ${shown} is not supported; use one of ${ACCEPTED_CODINGS}`
  return new ShoalError('unsupported_media_type', message, { param: 'Content-Encoding' })
}
