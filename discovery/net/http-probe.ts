// not undici: a probe reads headers as they are spelled, and pages of any server as far as they come
import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP } from 'node:net'
import { promisify } from 'node:util'
import { constants, gunzip, inflate } from 'node:zlib'
import { VERSION } from '../../shared/version.ts'
import type { ScanScope } from '../../shared/wire/scan-scope.ts'
import { requireInScope } from '../scope.ts'
import { ANY_SERVER, serverNameOf, toTlsError } from './shake-hands.ts'

export interface HttpTarget {
  /** Name for the Host header and SNI; an address stands for itself. */
  host: string
  address: string
  port: number
  isTls: boolean
  /** True checks the certificate: needed before credentials are sent. */
  isVerified?: boolean
  scope: ScanScope
  signal: AbortSignal
  timeoutMs: number
}

interface HttpQuestion {
  path: string
  /** Method and body are only for requests that read: `POST /v2/repository/index`. */
  body?: object
  /** Headers of credentials. */
  headers?: Readonly<Record<string, string>>
  maxBytes?: number
}

export interface HttpAnswer {
  status: number
  headers: IncomingHttpHeaders
  /** Names and values by turns, in the order of the server. */
  rawHeaders: readonly string[]
  body: Buffer
}

const MAX_BYTES = 256 * 1024
const MAX_HEADER_BYTES = 16 * 1024
const AGENT = `shoal/${VERSION}`

/**
 * Sends one request and reads at most `maxBytes` of the answer, as far as it comes in time. Redirects
 * are not followed.
 * @throws ShoalError forbidden outside the scope; Error of the system for every other failure
 */
export const httpProbe = async (
  target: HttpTarget,
  question: HttpQuestion,
): Promise<HttpAnswer> => {
  requireInScope(target.scope, target.address)
  const response = await send(target, question)
  const raw = await readBody(response, question.maxBytes ?? MAX_BYTES)
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    rawHeaders: response.rawHeaders,
    body: await decode(raw, response.headers['content-encoding']),
  }
}

type Origin = Pick<HttpTarget, 'host' | 'port' | 'isTls'>

/** Authority of a URL; the default port of its scheme is left out. */
const authorityOf = ({ host, port, isTls }: Origin): string => {
  const name = isIP(host) === 6 ? `[${host}]` : host
  return port === (isTls ? 443 : 80) ? name : `${name}:${port}`
}

/** Start of a URL, without a trailing slash. */
export const originOf = (target: Origin): string =>
  `${target.isTls ? 'https' : 'http'}://${authorityOf(target)}`

const send = (target: HttpTarget, question: HttpQuestion): Promise<IncomingMessage> => {
  const { address, port, isTls, signal, timeoutMs } = target
  const body = question.body === undefined ? undefined : JSON.stringify(question.body)
  return new Promise((resolve, reject) => {
    const request = (isTls ? requestHttps : requestHttp)({
      ...(isTls ? serverNameOf(target.host) : {}),
      ...(isTls && target.isVerified !== true ? ANY_SERVER : {}),
      host: address,
      port,
      path: question.path,
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        host: authorityOf(target),
        'user-agent': AGENT,
        accept: '*/*',
        'accept-encoding': 'identity',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...question.headers,
      },
      agent: false,
      maxHeaderSize: MAX_HEADER_BYTES,
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    })
    request.once('response', resolve)
    // later ones reach the reader of the body
    request.on('error', error => reject(toTlsError(error)))
    request.end(body)
  })
}

const readBody = async (response: IncomingMessage, maxBytes: number): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      bytes += chunk.length
      // leaving the loop destroys the connection
      if (bytes >= maxBytes) break
    }
  } catch {
    // a page without end, such as a stream of events: its headers and its start are an answer
  }
  return Buffer.concat(chunks).subarray(0, maxBytes)
}

const DECODERS: Readonly<Record<string, typeof gunzip | typeof inflate>> = {
  gzip: gunzip,
  deflate: inflate,
}

/** Small devices send their pages compressed whatever the request says; a cut page is read as far. */
const decode = async (body: Buffer, encoding = 'identity'): Promise<Buffer> => {
  const decoder = DECODERS[encoding]
  if (decoder === undefined) return body
  const options = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: MAX_BYTES * 4 }
  return promisify<Buffer, object, Buffer>(decoder)(body, options).catch(() => Buffer.alloc(0))
}
