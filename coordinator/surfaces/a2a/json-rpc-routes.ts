import { RequestMalformedError } from '@a2a-js/sdk/errors'
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import * as z from 'zod'
import { SSE_HEADERS, sseData } from '../../../shared/wire/sse.ts'
import type { RouteDocs } from '../http/route-docs.ts'
import { methodFault } from '../http/rpc-method.ts'
import { type BindingParts, BODY_LIMIT_BYTES, parseBodies, refuseInvalidKeys } from './binding.ts'
import { type A2aCall, callOf, rejectOnCallEnd, versionOf } from './call.ts'
import { type Failure, failureOf, MalformedBody, rpcError } from './errors.ts'
import { callLegacy, LEGACY_METHODS, LEGACY_STREAMS } from './legacy-methods.ts'
import { sendStream } from './stream.ts'
import { v1Method } from './v1-methods.ts'

type Id = string | number | null

interface Request {
  id: Id
  method: string
  params: unknown
}

const envelope = (id: Id, body: { result: unknown } | { error: object }) => ({
  jsonrpc: '2.0',
  id,
  ...body,
})

/** Parses a JSON-RPC 2.0 request. Throws for batches and invalid requests. */
const rpcRequest = (body: unknown): Request => {
  if (Array.isArray(body))
    throw new MalformedBody(-32600, 'batches are not supported; send one request at a time')
  if (typeof body !== 'object' || body === null)
    throw new MalformedBody(-32600, 'the body is not a JSON-RPC request')
  const { jsonrpc, id = null, method, params } = body as Record<string, unknown>
  if (jsonrpc !== '2.0') throw new MalformedBody(-32600, 'jsonrpc must be "2.0"')
  if (!isId(id)) throw new MalformedBody(-32600, 'id must be a string, an integer or null')
  const fault = methodFault(method)
  if (fault !== undefined) throw new MalformedBody(-32600, fault)
  return { id, method: method as string, params }
}

const isId = (id: unknown): id is Id =>
  id === null || typeof id === 'string' || Number.isInteger(id)

/**
 * Id of the request, or null; invalid requests are answered with their id too, if they have one.
 */
const idOf = (body: unknown): Id => {
  const id = (body as { id?: unknown } | null | undefined)?.id
  return id !== undefined && isId(id) ? id : null
}

const paramsOf = (params: unknown, needed: boolean): Record<string, unknown> => {
  if (params === undefined && !needed) return {}
  if (typeof params === 'object' && params !== null && !Array.isArray(params))
    return params as Record<string, unknown>
  throw new RequestMalformedError('params must be an object')
}

/** JSON-RPC for A2A 1.0 and before: the name of the method decides. */
export const jsonRpcRoutes: FastifyPluginAsync<BindingParts> = async (app, parts) => {
  parseBodies(app)
  refuseInvalidKeys(app, parts)
  const answerError = (request: FastifyRequest, reply: FastifyReply, thrown: unknown): unknown => {
    const failure = failureOf(thrown)
    parts.onError(failure, thrown, request)
    return sendFailure(request, reply, failure)
  }
  app.setErrorHandler((error, request, reply) =>
    answerError(request, reply, parts.toKnownError(error)),
  )
  for (const [path, docs] of Object.entries(DOCS)) rpcRoute(app, path, docs, parts)
}

const rpcRoute = (
  app: FastifyInstance,
  path: string,
  docs: RouteDocs,
  parts: BindingParts,
): void => {
  const config = { access: 'none' as const, docs }
  app.post(path, { config, bodyLimit: BODY_LIMIT_BYTES }, async (request, reply) => {
    const { id, method, params } = rpcRequest(request.body)
    versionOf(request.headers['a2a-version'])
    const known = v1Method(method)
    if (known === undefined && !LEGACY_METHODS.includes(method))
      throw new MalformedBody(-32601, `no method ${method}`)
    const call = callOf(request, reply, known === undefined ? '0.3' : '1.0', parts)
    const admission = await parts.admit(call)
    const ask = (): ReturnType<typeof perform> => perform(parts, call, method, params)
    const answer = await parts.runWithRefund(admission, () => rejectOnCallEnd(call, ask()))
    if ('result' in answer) return envelope(id, answer)
    const wrapped = wrap(answer.stream, id)
    return parts.runWithRefund(admission, () =>
      sendStream(reply, wrapped, call, error => {
        const failure = failureOf(error)
        parts.onError(failure, error, request)
        return { value: envelope(id, { error: rpcError(failure) }) }
      }),
    )
  })
}

type Answer = { result: unknown } | { stream: AsyncGenerator<unknown, void, undefined> }

const perform = async (
  parts: BindingParts,
  call: A2aCall,
  method: string,
  params: unknown,
): Promise<Answer> => {
  const handler = parts.handler(call)
  const known = v1Method(method)
  const given = paramsOf(
    params,
    !method.includes('ExtendedCard') && !method.includes('ExtendedAgent'),
  )
  if (known === undefined) return callLegacy(handler, method, given)
  return 'stream' in known
    ? { stream: known.stream(given, { handler, call }) }
    : { result: await known.call(given, { handler, call }) }
}

async function* wrap(results: AsyncGenerator<unknown, void, undefined>, id: Id) {
  try {
    for await (const result of results) yield envelope(id, { result })
  } finally {
    await results.return()
  }
}

/**
 * Errors of the method have status 200; transport errors have an HTTP status. Clients older than
 * 1.0 read the answer to a streaming method as a stream, whatever its content type.
 */
const sendFailure = (
  { body }: FastifyRequest,
  reply: FastifyReply,
  failure: Failure,
): FastifyReply => {
  const { isTransport, http, retryAfterSeconds } = failure
  const answer = envelope(idOf(body), { error: rpcError(failure) })
  if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds)
  if (http === 401) reply.header('www-authenticate', 'Bearer realm="shoal"')
  if (!isTransport && LEGACY_STREAMS.has((body as { method?: unknown } | null)?.method))
    return reply.headers({ ...SSE_HEADERS }).send(sseData(answer))
  return reply
    .code(isTransport ? http : 200)
    .type('application/json; charset=utf-8')
    .send(answer)
}

const Rpc = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.int(), z.null()]),
  method: z.string(),
  params: z.looseObject({}),
})
const RpcAnswer = z.looseObject({ jsonrpc: z.literal('2.0') })

const rpcDocs = (id: string, summary: string): RouteDocs => ({
  id,
  summary,
  tag: 'agent',
  body: Rpc,
  answer: RpcAnswer,
  events: RpcAnswer,
  errors: 'RpcError',
  example: { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 'task_0' } },
})

const DOCS: Record<string, RouteDocs> = {
  '/': rpcDocs('a2a-json-rpc-root', 'A2A over JSON-RPC, as at /a2a.'),
  '/a2a/': rpcDocs('a2a-json-rpc-slash', 'A2A over JSON-RPC, as at /a2a.'),
  '/a2a': rpcDocs('a2a-json-rpc', 'A2A over JSON-RPC: 1.0, 0.3 and 0.2 by the name of the method.'),
}
