import type { Logger } from 'pino'
import type { Catalogue } from '../../shared/catalogue.ts'
import { ShoalError } from '../../shared/errors.ts'
import { chat } from './openai/chat.ts'
import { completions } from './openai/completions.ts'
import type { RouteContext } from './openai/context.ts'
import { embeddings } from './openai/embeddings.ts'
import { type HttpRequest, type HttpResponse, sendError, sendJson } from './openai/http.ts'
import { modelList } from './openai/models.ts'
import { rerank } from './openai/rerank.ts'
import { responses } from './openai/responses.ts'

interface HandlerParts extends RouteContext {
  catalogue: Catalogue
  logger: Logger
}

type Route = (
  request: HttpRequest,
  response: HttpResponse,
  gone: AbortSignal,
) => Promise<void> | void

/**
 * The cell's own OpenAI server, for the streams of the link (node:http2) and for a listener on
 * loopback (node:http).
 */
export const createHandler = (
  parts: HandlerParts,
): ((request: HttpRequest, response: HttpResponse) => void) => {
  const created = Math.floor(parts.now() / 1000)
  const routes = new Map<string, { method: string; run: Route }>([
    [
      '/v1/chat/completions',
      { method: 'POST', run: (req, res, gone) => chat(req, res, gone, parts) },
    ],
    [
      '/v1/responses',
      { method: 'POST', run: (req, res, gone) => responses(req, res, gone, parts) },
    ],
    [
      '/v1/completions',
      { method: 'POST', run: (req, res, gone) => completions(req, res, gone, parts) },
    ],
    [
      '/v1/embeddings',
      { method: 'POST', run: (req, res, gone) => embeddings(req, res, gone, parts) },
    ],
    ['/v1/rerank', { method: 'POST', run: (req, res, gone) => rerank(req, res, gone, parts) }],
    [
      '/v1/models',
      { method: 'GET', run: (_, res) => sendJson(res, modelList(parts.catalogue, created)) },
    ],
    ['/healthz', { method: 'GET', run: (_, res) => sendJson(res, { status: 'ok' }) }],
  ])
  return (request, response) => {
    ignoreErrors(request, response)
    const gone = goneSignal(response)
    void answer(routes, request, response, gone).catch(error => {
      if (!gone.aborted) fail(parts.logger, response, error)
    })
  }
}

/**
 * Ignores errors of a disconnected peer, which `close` reports; without a listener they would end
 * the daemon.
 */
const ignoreErrors = (request: HttpRequest, response: HttpResponse): void => {
  request.on('error', () => {})
  response.on('error', () => {})
}

/** Aborts when the client has disconnected, and also when the answer is complete. */
const goneSignal = (response: HttpResponse): AbortSignal => {
  const controller = new AbortController()
  response.once('close', () => controller.abort())
  return controller.signal
}

const answer = async (
  routes: Map<string, { method: string; run: Route }>,
  request: HttpRequest,
  response: HttpResponse,
  gone: AbortSignal,
): Promise<void> => {
  const path = (request.url ?? '/').split('?', 1)[0] as string
  const route = routes.get(path)
  if (route === undefined) throw new ShoalError('not_found', `there is nothing at ${path}`)
  if (route.method !== request.method) {
    response.setHeader('allow', route.method)
    throw new ShoalError('method_not_allowed', `${path} supports ${route.method} only`)
  }
  await route.run(request, response, gone)
}

const fail = (logger: Logger, response: HttpResponse, error: unknown): void => {
  if (error instanceof ShoalError) {
    sendError(response, error)
    return
  }
  logger.error({ err: error }, 'request failed')
  if (response.headersSent) response.destroy()
  else sendError(response, new ShoalError('internal', 'the cell failed to process this request'))
}
