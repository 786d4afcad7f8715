import type { A2ARequestHandler } from '@a2a-js/sdk/server'
import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify'
import { ShoalError } from '../../../shared/errors.ts'
import { JSON_TYPE } from '../../../shared/json-type.ts'
import type { Keys } from '../../access/keys/keys.ts'
import type { Admission } from '../../access/quota/quota.ts'
import type { Key } from '../../kernel/declaration/key.ts'
import { keyRefusal, readPresentedKey } from '../http/auth.ts'
import { toShoalError } from '../http/errors.ts'
import { parseJsonBody } from '../http/json-body.ts'
import type { StreamPlaces } from '../http/stream-places.ts'
import type { A2aCall } from './call.ts'
import { type Failure, MalformedBody } from './errors.ts'

/** Parts that both bindings need. */
export interface BindingParts {
  handler(call: A2aCall): A2ARequestHandler
  /** Counts the call; throws `rate_limited`. */
  admit(call: A2aCall): Admission | Promise<Admission>
  /** Refunds the admission of a refused call. */
  runWithRefund<T>(admission: Admission, work: () => Promise<T>): Promise<T>
  /** Receives every error that is answered. */
  onError(failure: Failure, thrown: unknown, request: FastifyRequest): void
  /** Converts an error of Fastify or of the steps before the method. */
  toKnownError(error: unknown): unknown
  /** Ends calls whose key has ended. */
  hold?: Keys['hold'] | undefined
  /** Limits on streams, which stay open. */
  places?: Pick<StreamPlaces, 'take'> | undefined
  /** Key for calls without one; for tests with public kits, which have none. */
  fallbackKey?: Key | undefined
}

/** Body limit, as for operations: inputs of skills are small. */
export const BODY_LIMIT_BYTES = 256 * 1024

/** JSON that cannot be read has a code of its own in JSON-RPC; depth and size are bounded as everywhere. */
export const parseBodies = (app: FastifyInstance): void => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(JSON_TYPE, { parseAs: 'buffer' }, (_request, bytes, done) => {
    try {
      done(null, parseJsonBody(bytes as Buffer))
    } catch (error) {
      done(asMalformed(error as Error))
    }
  })
}

/** Converts a parser error; only syntax errors have a cause. */
const asMalformed = (error: Error): Error =>
  error instanceof ShoalError && error.cause !== undefined
    ? new MalformedBody(-32700, error.message)
    : new MalformedBody(-32600, error.message)

export const toKnownError = (error: unknown): unknown => {
  if (error instanceof MalformedBody) return error
  return isFastifys(error) ? toShoalError(error) : error
}

/**
 * Refuses a key that is not valid before the call is looked at. A call without a key goes on: some
 * methods are open to everybody.
 */
export const refuseInvalidKeys = (
  app: FastifyInstance,
  { fallbackKey }: Pick<BindingParts, 'fallbackKey'>,
): void => {
  if (fallbackKey !== undefined) return
  // with the body, so that the refusal has the id of the JSON-RPC request
  app.addHook('preHandler', ({ key, headers }, _reply, done) => {
    const isInvalid = key === undefined && headers.authorization !== undefined
    done(isInvalid ? keyRefusal(headers.authorization, readPresentedKey(headers)) : undefined)
  })
}

const isFastifys = (error: unknown): error is FastifyError =>
  error instanceof Error && String((error as FastifyError).code).startsWith('FST_')
