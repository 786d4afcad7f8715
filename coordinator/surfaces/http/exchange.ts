import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { decodeBody } from '../../../shared/decode-body.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { JSON_TYPE } from '../../../shared/json-type.ts'
import type { Ignored } from '../../../shared/wire/ignored.ts'
import type { ClientResponse } from '../../gateway/dispatch/client-response.ts'
import type { Share } from '../../kernel/budgets/budget.ts'
import type { Key } from '../../kernel/declaration/key.ts'
import { requestId } from './safety.ts'

/** One inference request with its caller and its response. */
export interface HttpExchange<R extends ClientResponse = ClientResponse> {
  id: string
  /** Address of the client, as `TrustedProxies` finds it. */
  address: string
  /** Path of its route. */
  route: string
  headers: IncomingHttpHeaders
  /** Key of the caller, set like the tenant before any handler sees the exchange. */
  key: Key | undefined
  /** The tenant it acts for: asked by X-SVC-Tenant, else the key's home. */
  tenantId: string
  body: unknown
  /** Bytes of the body, as sent or, where fields were left out, as rewritten. */
  rawBody: Buffer
  /** Names of ignored fields and tools, for the response header. */
  ignored?: readonly Ignored[]
  /** Share of a large body in the memory for bodies. */
  bodyShare?: Share | undefined
  response: R
}

const EMPTY = Buffer.alloc(0)

export const newExchange = (
  route: string,
  address: string,
  request: IncomingMessage,
  response: ServerResponse,
): HttpExchange<ServerResponse> => ({
  id: requestId(request),
  address,
  route,
  headers: request.headers,
  key: undefined,
  tenantId: '',
  body: undefined,
  rawBody: EMPTY,
  bodyShare: undefined,
  response,
})

/**
 * Returns the refusal of a body that has grown to `bytes`. It may call `onReclaim` with a refusal
 * later, also when the body is whole.
 */
export type GrowBody = (
  bytes: number,
  onReclaim: (refusal: ShoalError) => void,
) => ShoalError | undefined

interface BodyRules {
  limitBytes: number
  /** True where clients send JSON under any content type, or none. */
  isAnyType: boolean
}

/**
 * Reads a body of bounded size to its end, while `grow` has no refusal for the bytes that it has.
 * `done` is given undefined when there is none, and is called again with the refusal when the
 * memory of a whole body is reclaimed. All bounds are for the decoded bytes. Fails with
 * `unsupported_media_type` and `payload_too_large`, also before it has read anything.
 */
export const readBody = (
  request: IncomingMessage,
  { limitBytes, isAnyType }: BodyRules,
  grow: GrowBody,
  done: (error: Error | undefined, body?: Buffer) => void,
): void => {
  const { 'content-type': type, 'content-length': length = '0' } = request.headers
  const isEmpty = length === '0' && request.headers['transfer-encoding'] === undefined
  if (isEmpty && type === undefined) done(undefined)
  else if (!isAnyType && (type === undefined || !JSON_TYPE.test(type))) done(wrongType())
  else if (Number(length) > limitBytes) done(tooLarge())
  else
    try {
      collect(decodeBody(request.headers, request, limitBytes), limitBytes, grow, done)
    } catch (error) {
      done(error as Error)
    }
}

const collect = (
  body: Readable,
  limitBytes: number,
  grow: GrowBody,
  done: Parameters<typeof readBody>[3],
): void => {
  const pieces: Buffer[] = []
  let bytes = 0
  const finish = (error?: Error): void => {
    body.off('data', add).off('end', end).off('error', cut)
    if (error !== undefined) done(error)
    else done(undefined, pieces.length === 1 ? pieces[0] : Buffer.concat(pieces))
  }
  const end = (): void => finish()
  const cut = (cause: Error): void =>
    finish(
      cause instanceof ShoalError
        ? cause
        : new ShoalError('client_closed', 'the body is incomplete', { cause }),
    )
  const add = (piece: Buffer): void => {
    bytes += piece.length
    pieces.push(piece)
    const refusal = bytes > limitBytes ? tooLarge() : grow(bytes, finish)
    if (refusal !== undefined) finish(refusal)
  }
  body.on('data', add).on('end', end).on('error', cut)
}

const wrongType = (): ShoalError =>
  new ShoalError('unsupported_media_type', 'content-type must be application/json in UTF-8')

const tooLarge = (): ShoalError => new ShoalError('payload_too_large', 'the body is too large')
