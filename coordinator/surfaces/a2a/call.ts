import { VersionNotSupportedError } from '@a2a-js/sdk/errors'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ShoalError } from '../../../shared/errors.ts'
import { actsFor } from '../../access/keys/key.ts'
import type { Keys } from '../../access/keys/keys.ts'
import type { TaskCaller } from '../../kernel/declaration/context.ts'
import type { Key } from '../../kernel/declaration/key.ts'
import { subjectOf, taskCallerOf } from '../http/answer-headers.ts'
import type { StreamPlaces } from '../http/stream-places.ts'
import { parseExtensions } from './extensions.ts'

export type Version = '1.0' | '0.3'

/** One A2A request: its caller, protocol version and requested extensions. */
export interface A2aCall extends TaskCaller {
  version: Version
  extensions: readonly string[]
  /** Aborts when the client has disconnected, and with a `ShoalError` when its key has ended. */
  signal: AbortSignal
  /** Ends the call with this tenant too, where it is not the one of its header. */
  holdFor?: ((tenantId: string) => void) | undefined
  /** Takes the place of a stream and answers how to give it back; throws `rate_limited`. */
  takePlace?: (() => () => void) | undefined
}

/** The version of the header; undefined without one. Throws for one that is not spoken. */
export const versionOf = (header: string | string[] | undefined): Version | undefined => {
  const text = [header ?? []].flat()[0]?.trim() ?? ''
  if (text === '') return undefined
  if (/^1\.0(\.\d+)?$/.test(text)) return '1.0'
  if (/^0\.[23](\.\d+)?$/.test(text)) return '0.3'
  throw new VersionNotSupportedError(`A2A ${text} is not supported; 1.0 and 0.3 are`)
}

export const callOf = (
  request: FastifyRequest,
  reply: FastifyReply,
  version: Version,
  {
    fallbackKey: fallback,
    hold,
    places,
  }: {
    fallbackKey?: Key | undefined
    hold?: Keys['hold'] | undefined
    places?: Pick<StreamPlaces, 'take'> | undefined
  },
): A2aCall => {
  const over = new AbortController()
  const { key: own, tenantId: chosen } = request
  const cut = (error: ShoalError): void => over.abort(error)
  const releases = [own && hold?.(own, { cut, tenantId: chosen })]
  const holdFor = (tenantId: string): void => {
    if (!over.signal.aborted) releases.push(own && hold?.(own, { cut, tenantId }))
  }
  const close = (): void => {
    for (const release of releases) release?.()
    // nothing listens after a complete response, and creating the reason of an abort is expensive
    if (!reply.raw.writableFinished) over.abort()
  }
  reply.raw.once('close', close)
  // the client disconnected earlier, and `close` is not emitted again
  if (reply.raw.destroyed) close()
  const key = own ?? fallback
  const extensions = parseExtensions(
    request.headers['a2a-extensions'] ?? request.headers['x-a2a-extensions'],
  )
  if (extensions.length > 0)
    reply.header(version === '1.0' ? 'a2a-extensions' : 'x-a2a-extensions', extensions.join(', '))
  const tenantId = request.tenantId ?? fallback?.tenantId
  const { signal } = over
  const takePlace = places && (() => places.take(key?.id ?? subjectOf(request).id))
  const caller = { ...taskCallerOf(request), key, tenantId }
  return { ...caller, version, extensions, signal, holdFor, takePlace }
}

/** The answer, unless the key ends before it: then the reason is thrown. */
export const rejectOnCallEnd = <T>({ signal }: A2aCall, answer: Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    const end = (): void => {
      if (signal.reason instanceof ShoalError) reject(signal.reason)
    }
    signal.addEventListener('abort', end, { once: true })
    if (signal.aborted) end()
    answer.then(resolve, reject).finally(() => signal.removeEventListener('abort', end))
  })

/** The tenant that a call is for: the one it names, if its key may act for it, else its own. */
export const tenantFor = (
  { key, tenantId, holdFor }: A2aCall,
  asked: string | undefined,
): string => {
  if (key === undefined || tenantId === undefined)
    throw new ShoalError('auth_required', 'this call needs a key')
  if (!asked || asked === tenantId) return tenantId
  if (actsFor(key, asked)) {
    holdFor?.(asked)
    return asked
  }
  throw new ShoalError('tenant_forbidden', 'the key may not act for this tenant', {
    param: 'tenant',
  })
}
