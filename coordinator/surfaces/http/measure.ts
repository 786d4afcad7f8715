import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { systemRuntime } from '../../../shared/runtime.ts'
import type { HttpFigures, RouteFigures } from '../metrics/http-figures.ts'

/** nginx's number for a client that left before it had its answer. */
const CLIENT_LEFT = 499
/** Methods of requests that hit no route; anything else would be a label of the client's making. */
const OTHER = 'other'
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** Counts a request from now on and times it until its answer is over. */
export const watchAnswer = (
  figures: Pick<HttpFigures, 'recordStart' | 'recordEnd'>,
  route: RouteFigures,
  response: ServerResponse,
): void => {
  const startedMs = systemRuntime.nowMs()
  figures.recordStart()
  response.on('close', () => {
    const status = response.writableFinished ? response.statusCode : CLIENT_LEFT
    figures.recordEnd(route, status, (systemRuntime.nowMs() - startedMs) / 1000)
  })
}

/** Counts and times every request. It must be the first plugin, so that refused ones are seen. */
export const measure = fp(async (app: FastifyInstance, { figures }: { figures: HttpFigures }) => {
  /** Metrics by the configuration of a route, which is the same object for all its requests. */
  const known = new WeakMap<object, RouteFigures>()

  const routeOf = ({ routeOptions, method, is404 }: FastifyRequest) => {
    if (is404) return figures.route(METHODS.includes(method) ? method : OTHER, 'none')
    const found = known.get(routeOptions.config)
    if (found !== undefined) return found
    const route = figures.route(method, routeOptions.url ?? 'none')
    known.set(routeOptions.config, route)
    return route
  }

  app.addHook('onRequest', (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    watchAnswer(figures, routeOf(request), reply.raw)
    done()
  })
})
