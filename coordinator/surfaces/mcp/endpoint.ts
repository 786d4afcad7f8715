import type {
  AuthInfo,
  CreateMcpHandlerOptions,
  McpHttpHandler,
  McpServerFactory,
} from '@modelcontextprotocol/server'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ShoalError } from '../../../shared/errors.ts'
import { lazy } from '../../../shared/lazy.ts'
import { systemRuntime } from '../../../shared/runtime.ts'
import type { RouteAccess } from '../http/auth.ts'
import type { RouteDocs } from '../http/route-docs.ts'
import { methodFault } from '../http/rpc-method.ts'
import type { ChangeStream } from './listening.ts'

interface EndpointParts {
  docs: RouteDocs
  access: RouteAccess
  factory: McpServerFactory
  /** The stream of changes that a request asks for; undefined for one that is answered. */
  listening: (
    request: FastifyRequest,
    onStalled: (error: ShoalError) => void,
  ) => ChangeStream | undefined
  /**
   * Identifies the caller for the factory; throws `ShoalError` for a request that must not reach
   * it.
   */
  admit: (request: FastifyRequest, reply: FastifyReply) => AuthInfo | Promise<AuthInfo>
  /**
   * Takes the place of a stream and calls back when its key has ended; answers how to let go. Throws
   * `rate_limited`.
   */
  acquireStream: (request: FastifyRequest, end: (error: ShoalError) => void) => () => void
  onError: (error: Error) => void
}

/** Paths with and without the slash: people omit it, and the card has it. */
const PATHS = [
  ['/mcp/', ''],
  ['/mcp', '-bare'],
] as const
/** A stream that was ended has so long to say so. */
const FLUSH_MS = 250

/**
 * MCP over streamable HTTP on one address: the stateless revision 2026-07-28, and the revisions of
 * 2025 without sessions, which have nothing to get or delete. The body was read and bounded before.
 */
export const mcpEndpoint = (app: FastifyInstance, parts: EndpointParts): void => {
  const { factory, onError: onerror } = parts
  const handlers = new Set<McpHttpHandler>()
  // the library is loaded with the first request, which most starts never see
  const addHandler = async (options: CreateMcpHandlerOptions): Promise<McpHttpHandler> => {
    const { createMcpHandler } = await import('@modelcontextprotocol/server')
    const handler = createMcpHandler(factory, { onerror, ...options })
    handlers.add(handler)
    return handler
  }
  const answering = lazy(() => addHandler({ maxSubscriptions: 0 }))
  app.addHook('onClose', async () => {
    await Promise.all([...handlers].map(each => each.close()))
  })

  const stream = async (
    asked: Request,
    { bus, pace }: ChangeStream,
    options: Parameters<McpHttpHandler['fetch']>[1],
  ): Promise<Response> => {
    // each stream has its own handler, which receives only the changes its reader may see
    const own = await addHandler({ bus, maxSubscriptions: 1 })
    if (asked.signal.aborted) handlers.delete(own)
    asked.signal.addEventListener('abort', () => handlers.delete(own), { once: true })
    const response = await own.fetch(asked, options)
    return response.body === null ? response : new Response(pace(response.body), response)
  }

  for (const [url, suffix] of PATHS)
    app.route({
      method: 'POST',
      url,
      config: { access: parts.access, docs: { ...parts.docs, id: `${parts.docs.id}${suffix}` } },
      handler: async (request, reply) => {
        const options = { authInfo: await parts.admit(request, reply), parsedBody: request.body }
        const refusal = methodRefusal(request.body)
        if (refusal !== undefined) return reply.code(400).send(refusal)
        const flush = () => systemRuntime.setTimeout(() => reply.raw.destroy(), FLUSH_MS).unref()
        const listening = parts.listening(request, flush)
        const asked = webRequest(request, reply, {
          take: end => parts.acquireStream(request, end),
          end: error => {
            listening?.end(error)
            flush()
          },
        })
        return listening === undefined
          ? (await answering()).fetch(asked, options)
          : stream(asked, listening, options)
      },
    })
}

/** The library answers a method of a wrong type as any unusable body, without its name. */
const methodRefusal = (body: unknown): object | undefined => {
  const { id, method } = Object(body)
  const message = method === undefined ? undefined : methodFault(method)
  if (message === undefined) return undefined
  const isId = typeof id === 'string' || Number.isInteger(id)
  return { jsonrpc: '2.0', id: isId ? id : null, error: { code: -32600, message } }
}

/**
 * Web request with the head alone, since the body is already read; aborted when the client
 * disconnects.
 */
const webRequest = (
  { method, url, raw }: FastifyRequest,
  reply: FastifyReply,
  { take, end }: { take: (end: (error: ShoalError) => void) => () => void; end: Ends },
): Request => {
  const left = new AbortController()
  const release = take(end)
  const onClose = (): void => {
    release()
    left.abort()
  }
  reply.raw.once('close', onClose)
  // the client disconnected during the check, and `close` is not emitted again
  if (reply.raw.destroyed) onClose()
  const headers = new Headers()
  for (const [name, value] of Object.entries(raw.headers))
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value)
  if (ANYTHING.test(headers.get('accept') ?? '*/*')) headers.set('accept', BOTH_TYPES)
  return new Request(`http://coordinator${url}`, { method, headers, signal: left.signal })
}

/**
 * Clients that accept any type, as curl does and as a missing header says, accept both types of the
 * protocol (RFC 9110, 12.5.1).
 */
const ANYTHING = /(^|,)\s*\*\/\*\s*(,|$)/
const BOTH_TYPES = 'application/json, text/event-stream'

type Ends = (error: ShoalError) => void
