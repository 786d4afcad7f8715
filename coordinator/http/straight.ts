import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { ShoalError } from '../../shared/errors.ts'
import type { CoordinatorConfig } from '../config.ts'
import type { Key } from '../keys/key.ts'
import type { HttpFigures } from '../metrics/http-figures.ts'
import { type AuthParts, keyRefusal, presentedKey, tenantOf } from './auth.ts'
import { toShoalError, writeError } from './errors.ts'
import { type Exchange, newExchange, readBody } from './exchange.ts'
import { parseJsonBody, SCHEMA_DEPTH } from './json-body.ts'
import { watchAnswer } from './measure.ts'
import type { RouteDocs } from './route-docs.ts'
import { headerCheck } from './safety.ts'

type Handler = (request: IncomingMessage, response: ServerResponse) => void

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Answers the request instead of all that follows. */
    straight?: Handler
  }
}

export interface StraightParts {
  config: CoordinatorConfig
  keys: AuthParts['keys']
  figures: HttpFigures
  logger: Pick<Logger, 'error'>
}

/** Routes of POST requests with a key and a JSON body, answered without Fastify. */
export interface Straight {
  /** `handle` answers, or throws what the client is told. */
  post(path: string, docs: RouteDocs, handle: (exchange: Exchange) => Promise<void>): void
  /** From now on these requests do not pass through Fastify at all. */
  stepInFront(server: Server): void
}

/**
 * The way that inference takes: checked, authenticated, read and measured by the functions that all
 * routes share, without hooks and wrappers, which cost more than the rest of the way together. The
 * routes are Fastify's as well, so that the other methods, the document and odd spellings of their
 * paths are treated as ever. To be made before anything else adds a hook.
 */
export const createStraight = (app: FastifyInstance, parts: StraightParts): Straight => {
  const { config, keys, figures, logger } = parts
  const handlers = new Map<string, Handler>()
  const check = headerCheck(config)
  const limitBytes = config.http.body_limit_bytes

  app.addHook('onRequest', (request, reply, done) => {
    const { straight } = request.routeOptions.config
    if (straight === undefined) done()
    else straight(request.raw, reply.hijack().raw)
  })

  const admit = (exchange: Exchange, key: Key | undefined, presented?: string): void => {
    if (key === undefined) throw keyRefusal(exchange.headers.authorization, presented)
    exchange.key = key
    exchange.tenantId = tenantOf(exchange.headers, key)
  }

  /** Synchronous for a key that is in memory. */
  const authenticate = (exchange: Exchange): Promise<void> | undefined => {
    const presented = presentedKey(exchange.headers)
    const found = presented === undefined ? undefined : keys.authenticate(presented)
    if (found instanceof Promise) return found.then(key => admit(exchange, key, presented))
    admit(exchange, found, presented)
    return undefined
  }

  const fail = async (exchange: Exchange, thrown: unknown): Promise<void> => {
    const { response } = exchange
    const error = toShoalError(thrown as Error & { code: string })
    figures.failed(error.code)
    if (error.code === 'internal')
      logger.error({ err: thrown, request: exchange.id }, 'request failed')
    const headers = await app.answerHeaders(exchange)
    if (response.headersSent || response.destroyed) response.destroy()
    else writeError(response, error, headers)
  }

  const post: Straight['post'] = (path, docs, handle) => {
    const route = figures.route('POST', path)

    const straight: Handler = (request, response) => {
      watchAnswer(figures, route, response)
      const exchange = newExchange(path, request, response)
      const refuse = (error: unknown): void =>
        void fail(exchange, error).catch(() => response.destroy())
      const take = (error: Error | undefined, bytes?: Buffer): void => {
        try {
          receive(exchange, error, bytes)
          handle(exchange).catch(refuse)
        } catch (thrown) {
          refuse(thrown)
        }
      }
      try {
        check(request)
        const waiting = authenticate(exchange)
        if (waiting === undefined) readBody(request, limitBytes, take)
        else waiting.then(() => readBody(request, limitBytes, take)).catch(refuse)
      } catch (error) {
        refuse(error)
      }
    }

    handlers.set(path, straight)
    app.post(path, { config: { docs, straight } }, () => {
      throw new ShoalError('internal', `${path} was not answered in front`)
    })
  }

  const stepInFront = (server: Server): void => {
    const [behind] = server.listeners('request') as Handler[]
    if (behind === undefined) return
    server.off('request', behind)
    server.on('request', (request, response) => {
      const straight = request.method === 'POST' ? handlers.get(request.url ?? '') : undefined
      if (straight === undefined) behind(request, response)
      else straight(request, response)
    })
  }

  return { post, stepInFront }
}

/** Takes in a body that was read, or throws why not. */
const receive = (exchange: Exchange, error: Error | undefined, bytes: Buffer | undefined): void => {
  if (error !== undefined) {
    // the client may go on sending what nobody reads
    exchange.response.setHeader('connection', 'close')
    throw error
  }
  if (bytes === undefined) return
  exchange.rawBody = bytes
  exchange.body = parseJsonBody(bytes, SCHEMA_DEPTH)
}
