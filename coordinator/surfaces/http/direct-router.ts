import type { Server, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'
import type { Budgets } from '../../kernel/budgets/budgets.ts'
import type { Key } from '../../kernel/declaration/key.ts'
import type { HttpMetrics } from '../metrics/http-metrics.ts'
import { type AuthParts, findKey, keyRefusal, readPresentedKey, resolveTenant } from './auth.ts'
import { growBody } from './body-share.ts'
import { noteKey } from './connection.ts'
import { toShoalError, writeError } from './errors.ts'
import { type GrowBody, type HttpExchange, newExchange, readBody } from './exchange.ts'
import { parseJsonBody, SCHEMA_DEPTH } from './json-body.ts'
import { watchAnswer } from './measure.ts'
import { isOllamaPath } from './ollama/ollama-error.ts'
import type { ListenerSettings } from './public-config.ts'
import { putInFront, type RequestHandler } from './put-in-front.ts'
import type { RouteDocs } from './route-docs.ts'
import { headerCheck } from './safety.ts'
import { TrustedProxies } from './trusted-proxies.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Answers the request instead of Fastify's hooks and handler. */
    straight?: RequestHandler
  }
}

interface DirectRouterParts extends AuthParts {
  config: ListenerSettings
  metrics: HttpMetrics
  bodies: Budgets['requestBodies']
  logger: Pick<Logger, 'error'>
  /** Monotonic milliseconds. */
  nowMs: () => number
}

/**
 * Routes of POST requests with a key and a JSON body, answered without Fastify: checked,
 * authenticated, read and measured by the functions that all routes share, but without hooks and
 * wrappers, which cost more than the rest of the path together. The routes are registered with
 * Fastify too, so that other methods, the API document and odd spellings of their paths behave as
 * usual. Must be created before any other hook is added.
 */
export class DirectRouter {
  readonly #app: FastifyInstance
  readonly #parts: DirectRouterParts
  readonly #check: ReturnType<typeof headerCheck>
  readonly #limitBytes: number
  readonly #proxies: TrustedProxies
  readonly #handlers = new Map<string, RequestHandler>()

  constructor(app: FastifyInstance, parts: DirectRouterParts) {
    this.#app = app
    this.#parts = parts
    this.#check = headerCheck(parts.config)
    this.#limitBytes = parts.config.http.body_limit_bytes
    this.#proxies = new TrustedProxies(parts.config.http.trusted_proxies)
    app.addHook('onRequest', (request, reply, done) => {
      const { straight } = request.routeOptions.config
      if (straight === undefined) done()
      else straight(request.raw, reply.hijack().raw)
    })
  }

  /** Adds a route; `handle` answers, or throws the client's error. */
  post(path: string, docs: RouteDocs, handle: (exchange: HttpExchange) => Promise<void>): void {
    const straight = this.#handler(path, handle)
    this.#handlers.set(path, straight)
    this.#app.post(path, { config: { docs, straight } }, () => {
      throw new ShoalError('internal', `${path} was not answered in front`)
    })
  }

  /** Takes over the server's requests: those for a straight route no longer pass through Fastify. */
  stepInFront(server: Server): void {
    const handlers = this.#handlers
    putInFront(server, behind => (request, response) => {
      const straight = request.method === 'POST' ? handlers.get(request.url ?? '') : undefined
      if (straight === undefined) behind(request, response)
      else straight(request, response)
    })
  }

  #handler(path: string, handle: (exchange: HttpExchange) => Promise<void>): RequestHandler {
    const { metrics } = this.#parts
    const route = metrics.route('POST', path)
    // curl sends JSON as a form, and Ollama's server does not look at the type
    const rules = { limitBytes: this.#limitBytes, isAnyType: isOllamaPath(path) }
    return (request, response) => {
      watchAnswer(this.#parts, route, response)
      const exchange = newExchange(path, this.#proxies.clientAddress(request), request, response)
      const refuse = (error: unknown): void =>
        void this.#fail(exchange, error).catch(() => response.destroy())
      const grow: GrowBody = (bytes, onReclaim) =>
        growBody(this.#parts.bodies, exchange, bytes, onReclaim)
      const take = (error: Error | undefined, bytes?: Buffer): void => {
        try {
          receive(exchange, error, bytes)
          handle(exchange).catch(refuse)
        } catch (thrown) {
          refuse(thrown)
        }
      }
      try {
        this.#check(request)
        const waiting = this.#authenticate(exchange)
        if (waiting === undefined) readBody(request, rules, grow, take)
        else waiting.then(() => readBody(request, rules, grow, take)).catch(refuse)
      } catch (error) {
        refuse(error)
      }
    }
  }

  /** Synchronous for a key that is in memory. */
  #authenticate(exchange: HttpExchange<ServerResponse>): Promise<void> | undefined {
    const presented = readPresentedKey(exchange.headers)
    const found = findKey(this.#parts, exchange.address, presented)
    if (found instanceof Promise) return found.then(key => this.#admit(exchange, key, presented))
    this.#admit(exchange, found, presented)
    return undefined
  }

  #admit(
    exchange: HttpExchange<ServerResponse>,
    key: Key | undefined,
    presented: string | undefined,
  ): void {
    if (key === undefined) {
      this.#parts.anonymous.count(exchange.address)
      if (presented !== undefined) this.#parts.onInvalidKey(exchange.address)
      throw keyRefusal(exchange.headers.authorization, presented)
    }
    noteKey(exchange.response.req.socket)
    exchange.key = key
    exchange.tenantId = resolveTenant(exchange.headers, key)
  }

  async #fail(exchange: HttpExchange<ServerResponse>, thrown: unknown): Promise<void> {
    const { metrics, logger } = this.#parts
    const { response } = exchange
    const error = toShoalError(thrown as Error & { code: string })
    metrics.countError(error.code)
    if (error.code === 'internal')
      logger.error({ err: thrown, request: exchange.id }, 'request failed')
    const headers = await this.#app.answerHeaders(exchange)
    if (response.headersSent || response.destroyed) response.destroy()
    else writeError(response, exchange.route, error, headers)
  }
}

/** Stores a body that was read, or throws the reason why it was not, or could not be kept. */
const receive = (
  exchange: HttpExchange<ServerResponse>,
  error: Error | undefined,
  bytes: Buffer | undefined,
): void => {
  if (error !== undefined) {
    // the client may go on sending bytes that are not read
    exchange.response.setHeader('connection', 'close')
    throw error
  }
  if (bytes === undefined) return
  exchange.rawBody = bytes
  exchange.body = parseJsonBody(bytes, SCHEMA_DEPTH)
}
