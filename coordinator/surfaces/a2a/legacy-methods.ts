import { LegacyJsonRpcTransportHandler } from '@a2a-js/sdk/compat/v0_3/server'
import { RequestMalformedError } from '@a2a-js/sdk/errors'
import type { A2ARequestHandler } from '@a2a-js/sdk/server'
import { ServerCallContext } from '@a2a-js/sdk/server'
import { MalformedBody } from './errors.ts'

/** Names of A2A 0.2 and 0.3. */
export const LEGACY_METHODS: readonly string[] = [
  'message/send',
  'message/stream',
  'tasks/get',
  'tasks/cancel',
  'tasks/resubscribe',
  'tasks/pushNotificationConfig/set',
  'tasks/pushNotificationConfig/get',
  'tasks/pushNotificationConfig/list',
  'tasks/pushNotificationConfig/delete',
  'agent/getAuthenticatedExtendedCard',
]

/** Methods whose answer is a stream. */
export const LEGACY_STREAMS: ReadonlySet<unknown> = new Set(['message/stream', 'tasks/resubscribe'])

type Stream = AsyncGenerator<unknown, void, undefined>

interface Envelope {
  result?: unknown
  error?: { code: number; message: string }
}

/**
 * Calls a method of a version before 1.0; the library translates the params and the result. Throws
 * the error of our handler, not the library's translation of it.
 */
export const callLegacy = async (
  handler: A2ARequestHandler,
  method: string,
  params: unknown,
): Promise<{ result: unknown } | { stream: Stream }> => {
  const { watched, lastError } = captureErrors(handler)
  const transport = new LegacyJsonRpcTransportHandler(watched)
  const request = { jsonrpc: '2.0', id: 0, method, params }
  const context = new ServerCallContext({ requestedVersion: '0.3' })
  const answer = await transport.handle(request, context)
  if (isStream(answer)) return { stream: results(answer, lastError) }
  const { error, result } = answer as Envelope
  if (error === undefined) return { result }
  throw lastError() ?? toRequestError(error)
}

/** Wraps a handler and keeps its last error. */
const captureErrors = (handler: A2ARequestHandler) => {
  let kept: unknown
  const captureError = (error: unknown): never => {
    kept = error
    throw error
  }
  async function* captureStreamErrors(events: AsyncGenerator<never, void, undefined>) {
    try {
      yield* events
    } catch (error) {
      captureError(error)
    }
  }
  const watched = new Proxy(handler, {
    get: (target, name) => {
      const method = Reflect.get(target, name)
      if (typeof method !== 'function') return method
      return (...args: unknown[]) => {
        const answer = method.apply(target, args)
        return isStream(answer)
          ? captureStreamErrors(answer as never)
          : Promise.resolve(answer).catch(captureError)
      }
    },
  })
  return { watched, lastError: () => kept }
}

const isStream = (value: unknown): value is Stream =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value

async function* results(envelopes: Stream, lastError: () => unknown): Stream {
  try {
    for await (const envelope of envelopes) yield (envelope as Envelope).result
  } catch (error) {
    throw lastError() ?? toMalformedError(error)
  } finally {
    await envelopes.return()
  }
}

/** Error for params that the library could not translate: a client error, not an internal one. */
const toMalformedError = (error: unknown): Error =>
  error instanceof Error && error.name === 'RequestMalformedError'
    ? error
    : new RequestMalformedError('the params do not match the method')

const toRequestError = ({ code, message }: { code: number; message: string }): Error => {
  if (code === -32600 || code === -32601) return new MalformedBody(code, message)
  return new RequestMalformedError(code === -32602 ? message : 'the params do not match the method')
}
