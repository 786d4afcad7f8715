import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { HttpMetrics, RouteMetrics } from '../metrics/http-metrics.ts'

/** nginx's number for a client that left before it had its answer. */
const CLIENT_LEFT = 499
/** Methods of requests that hit no route; anything else would be a label of the client's making. */
const OTHER = 'other'
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

interface MeasureParts {
  metrics: HttpMetrics
  /** Monotonic milliseconds. */
  nowMs: () => number
}

/** Counts a request from now on and times it until its answer is over. */
export const watchAnswer = (
  { metrics, nowMs }: MeasureParts,
  route: RouteMetrics,
  response: ServerResponse,
): void => {
  const startedMs = nowMs()
  metrics.recordStart()
  response.on('close', () => {
    const status = response.writableFinished ? response.statusCode : CLIENT_LEFT
    metrics.recordEnd(route, status, (nowMs() - startedMs) / 1000)
  })
}

/** Counts and times every request. It must be the first plugin, so that refused ones are seen. */
export const measure = fp(async (app: FastifyInstance, parts: MeasureParts) => {
  const { metrics } = parts
  /** Metrics by the configuration of a route, which is the same object for all its requests. */
  const known = new WeakMap<object, RouteMetrics>()

  const routeOf = ({ routeOptions, method, is404 }: FastifyRequest) => {
    if (is404) return metrics.route(METHODS.includes(method) ? method : OTHER, 'none')
    const found = known.get(routeOptions.config)
    if (found !== undefined) return found
    const route = metrics.route(method, routeOptions.url ?? 'none')
    known.set(routeOptions.config, route)
    return route
  }

  app.addHook('onRequest', (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    watchAnswer(parts, routeOf(request), reply.raw)
    done()
  })
})
