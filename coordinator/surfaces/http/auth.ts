import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { ShoalError } from '../../../shared/errors.ts'
import { actsFor } from '../../access/keys/key.ts'
import type { Key } from '../../kernel/declaration/key.ts'
import type { AnonymousLimit } from './anonymous-limit.ts'
import { noteKey } from './connection.ts'
import { outcome } from './outcome.ts'

/** Access rule of a route: `none` admits every client, `key` any valid key. */
export type RouteAccess = 'none' | 'key'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** `key` when a route does not say. */
    access?: RouteAccess
    /** True for a route whose requests without a key are not counted here; `key` routes ignore it. */
    isUncounted?: boolean
  }
  interface FastifyRequest {
    /** The key that was shown, if it is valid. */
    key: Key | undefined
    /** The tenant the request acts for: asked by X-SVC-Tenant, else the key's home. */
    tenantId: string | undefined
  }
}

export interface AuthParts {
  keys: {
    authenticate(presented: string, onLoad?: () => void): Key | undefined | Promise<Key | undefined>
  }
  /** Counts requests without a valid key. */
  anonymous: Pick<AnonymousLimit, 'check' | 'count'>
  /** Receives the address of a request that presented an invalid key. */
  onInvalidKey: (ip: string) => void
}

const BEARER = /^Bearer +(\S+) *$/i

/** The key that a request shows; undefined without one. */
export const readPresentedKey = ({ authorization }: IncomingHttpHeaders): string | undefined =>
  authorization === undefined ? undefined : BEARER.exec(authorization)?.[1]

/** Sets `request.key` and `request.tenantId`; refuses routes that need a key without one. */
export const auth = fp(async (app: FastifyInstance, parts: AuthParts) => {
  const { anonymous, onInvalidKey } = parts
  app.decorateRequest('key', undefined)
  app.decorateRequest('tenantId', undefined)

  const admit = (request: FastifyRequest, key: Key | undefined, presented?: string): void => {
    request.key = key
    if (key === undefined) {
      const { access = request.is404 ? 'none' : 'key', isUncounted } = request.routeOptions.config
      if (access === 'key' || !isUncounted) anonymous.count(request.address)
      if (presented !== undefined) onInvalidKey(request.address)
      if (access === 'key') throw keyRefusal(request.headers.authorization, presented)
      return
    }
    noteKey(request.raw.socket)
    request.tenantId = resolveTenant(request.headers, key)
  }

  // a hook that is no promise, for the key that is in memory: this is on every request's path
  app.addHook('onRequest', (request, _reply, done) => {
    const presented = readPresentedKey(request.headers)
    const admitKey = (key: Key | undefined): void => admit(request, key, presented)
    let loading: Promise<void> | undefined
    outcome(
      () => {
        const found = findKey(parts, request.address, presented)
        if (found instanceof Promise) loading = found.then(admitKey)
        else admitKey(found)
      },
      error => {
        if (loading === undefined) done(error)
        else loading.then(() => done(), done)
      },
    )
  })
})

/**
 * Returns the key that was presented, if it is valid. An address that has used up its requests
 * without a key makes the store look for none. Synchronous for a key that is in memory. Throws
 * `rate_limited`.
 */
export const findKey = (
  { keys, anonymous }: Pick<AuthParts, 'keys' | 'anonymous'>,
  ip: string,
  presented: string | undefined,
): Key | undefined | Promise<Key | undefined> =>
  presented === undefined ? undefined : keys.authenticate(presented, () => anonymous.check(ip))

/** Error for a request without a valid key. */
export const keyRefusal = (header: string | undefined, presented: string | undefined): ShoalError =>
  new ShoalError('auth_required', refusal(header, presented))

const refusal = (header: string | undefined, presented: string | undefined): string => {
  if (header === undefined) return 'send your key in the header Authorization: Bearer svc-dev-…'
  if (presented === undefined) return 'the Authorization header must be: Bearer, a space, the key'
  return 'the key is not valid'
}

/** Throws `tenant_forbidden`. */
export const resolveTenant = (headers: IncomingHttpHeaders, key: Key): string => {
  const asked = headers['x-svc-tenant']
  if (asked === undefined || asked === key.tenantId) return key.tenantId
  if (typeof asked === 'string' && actsFor(key, asked)) return asked
  throw new ShoalError('tenant_forbidden', 'the key may not act for this tenant', {
    param: 'X-SVC-Tenant',
  })
}

/** The key of a request on a route with access `key`. */
export const requireKey = (request: FastifyRequest): Key => {
  if (request.key === undefined) throw new ShoalError('auth_required', 'this call needs a key')
  return request.key
}
