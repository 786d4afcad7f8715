import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import type { RouteDocs } from '../http/route-docs.ts'
import { type BindingParts, BODY_LIMIT_BYTES, parseBodies, refuseInvalidKeys } from './binding.ts'
import { type A2aCall, callOf, rejectOnCallEnd, type Version, versionOf } from './call.ts'
import { failureOf, legacyRestError, restError } from './errors.ts'
import { callLegacy } from './legacy-methods.ts'
import { eventOut, hookOut, hookParamsIn, sendParamsIn, taskOut } from './legacy-shapes.ts'
import {
  LEGACY_TABLE,
  type LegacyName,
  type Match,
  matchRow,
  type RestRequest,
  V1_TABLE,
} from './rest-table.ts'
import { sendStream } from './stream.ts'
import { V1_METHODS, type V1Method } from './v1-methods.ts'

const PREFIX = '/a2a/rest/'

type Target =
  | { version: '1.0'; match: Match<V1Method>; tenant: string | undefined }
  | { version: '0.3'; match: Match<LegacyName> }

type Fields = Record<string, unknown>

/**
 * HTTP+JSON of both versions below one address: paths before 1.0 begin with `v1/`, unless the
 * header says 1.0; then that is the name of a tenant.
 */
const targetOf = (method: string, path: string, version: Version | undefined): Target => {
  const allowed: string[] = []
  if (version !== '1.0') {
    const match = matchRow(LEGACY_TABLE, method, path)
    if ('row' in match) return { version: '0.3', match }
    allowed.push(...match.allowed)
  }
  for (const [rest, tenant] of [[path, undefined], withoutTenant(path)] as const) {
    const match = matchRow(V1_TABLE, method, rest)
    if ('row' in match) return { version: '1.0', match, tenant }
    allowed.push(...match.allowed)
  }
  if (allowed.length === 0) throw new ShoalError('not_found', `no route at ${PREFIX}${path}`)
  throw new ShoalError('method_not_allowed', `${PREFIX}${path} supports ${allowed.join(', ')}`)
}

const withoutTenant = (path: string): [string, string | undefined] => {
  const slash = path.indexOf('/')
  return slash === -1 ? [path, undefined] : [path.slice(slash + 1), path.slice(0, slash)]
}

export const restRoutes: FastifyPluginAsync<BindingParts> = async (app, parts) => {
  parseBodies(app)
  refuseInvalidKeys(app, parts)

  const isLegacy = (request: FastifyRequest): boolean =>
    isBefore1(request.headers['a2a-version']) && pathOf(request).startsWith('v1/')

  app.setErrorHandler((thrown, request, reply) => {
    const error = parts.toKnownError(thrown)
    const failure = failureOf(error)
    parts.onError(failure, error, request)
    if (failure.retryAfterSeconds !== undefined)
      reply.header('retry-after', failure.retryAfterSeconds)
    if (failure.http === 401) reply.header('www-authenticate', 'Bearer realm="shoal"')
    const legacy = isLegacy(request)
    return reply
      .code(failure.http)
      .type(legacy ? LEGACY_TYPE : typeFor(request))
      .send(JSON.stringify(legacy ? legacyRestError(failure) : restError(failure)))
  })

  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const version = versionOf(request.headers['a2a-version'])
    const target = targetOf(request.method, pathOf(request), version)
    const call = callOf(request, reply, target.version, parts)
    const admission = await parts.admit(call)
    const rest: RestRequest = {
      path: target.match.path,
      query: request.query as Fields,
      body: bodyOf(request),
    }
    return parts.runWithRefund(admission, () =>
      target.version === '1.0'
        ? answerV1(parts, target, rest, call, request, reply)
        : answerLegacy(parts, target.match, rest, call, request, reply),
    )
  }

  for (const method of ['GET', 'POST', 'DELETE'] as const)
    app.route({
      method,
      url: `${PREFIX}*`,
      bodyLimit: BODY_LIMIT_BYTES,
      handler: answer,
      config: { access: 'none', docs: docs(method) },
    })
}

const answerV1 = async (
  parts: BindingParts,
  { match, tenant }: Target & { version: '1.0' },
  rest: RestRequest,
  call: A2aCall,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> => {
  const { row } = match
  const method = V1_METHODS[row.call]
  const named = tenant ?? rest.query.tenant
  const params = { ...row.params(rest), ...(named === undefined ? {} : { tenant: named }) }
  const context = { handler: parts.handler(call), call }
  if ('stream' in method)
    return sendStream(reply, method.stream(params, context), call, error => {
      const failure = failureOf(error)
      parts.onError(failure, error, request)
      return { event: 'error', value: restError(failure) }
    })
  const body = await rejectOnCallEnd(call, method.call(params, context))
  if (row.status === 204) return reply.code(204).send()
  return reply
    .code(row.status ?? 200)
    .type(typeFor(request))
    .send(JSON.stringify(body))
}

const answerLegacy = async (
  parts: BindingParts,
  { row, path }: Match<LegacyName>,
  rest: RestRequest,
  call: A2aCall,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> => {
  const params = legacyParams(row.call, path, row.params(rest))
  const answer = await rejectOnCallEnd(call, callLegacy(parts.handler(call), row.call, params))
  if ('stream' in answer)
    return sendStream(reply, shapes(answer.stream), call, error => {
      const failure = failureOf(error)
      parts.onError(failure, error, request)
      return { event: 'error', value: legacyRestError(failure) }
    })
  if (row.status === 204) return reply.code(204).send()
  const body = legacyResult(row.call, answer.result as Fields)
  return reply
    .code(row.status ?? 200)
    .type(LEGACY_TYPE)
    .send(JSON.stringify(body))
}

const legacyParams = (call: LegacyName, path: Record<string, string>, params: Fields): Fields => {
  if (call === 'message/send' || call === 'message/stream') return sendParamsIn(params)
  if (call === 'tasks/pushNotificationConfig/set') return hookParamsIn(path.task ?? '', params)
  return params
}

const legacyResult = (call: LegacyName, result: Fields): unknown => {
  switch (call) {
    case 'message/send':
      return eventOut(result)
    case 'tasks/get':
    case 'tasks/cancel':
      return taskOut(result)
    case 'tasks/pushNotificationConfig/set':
    case 'tasks/pushNotificationConfig/get':
      return hookOut(result)
    case 'tasks/pushNotificationConfig/list':
      return { configs: (result as unknown as Fields[]).map(hookOut), nextPageToken: '' }
    default:
      return result
  }
}

async function* shapes(events: AsyncGenerator<unknown, void, undefined>) {
  try {
    for await (const event of events) yield eventOut(event as Fields)
  } finally {
    await events.return()
  }
}

const LEGACY_TYPE = 'application/json; charset=utf-8'

/** Clients before 1.0.1 accept only application/json; newer clients name the newer type. */
const typeFor = ({ headers }: FastifyRequest): string =>
  headers.accept?.includes('application/a2a+json') === true
    ? 'application/a2a+json'
    : 'application/json; charset=utf-8'

const isBefore1 = (header: string | string[] | undefined): boolean =>
  !String(header ?? '').startsWith('1')

const pathOf = (request: FastifyRequest): string => (request.params as { '*': string })['*']

/** Some clients send `null` where there is nothing to say. */
const bodyOf = ({ body }: FastifyRequest): Fields => {
  if (body === undefined || body === null) return {}
  if (typeof body === 'object' && !Array.isArray(body)) return body as Fields
  throw new ShoalError('invalid_request', 'the body must be an object')
}

const docs = (method: string): RouteDocs => ({
  id: `a2a-rest-${method.toLowerCase()}`,
  tag: 'agent',
  summary: 'A2A over HTTP+JSON: version 1.0, and version 0.3 under v1/.',
  path: `${PREFIX}{path}`,
  ...(method === 'POST' ? { body: z.looseObject({}) } : {}),
  answer: z.looseObject({}),
  types: ['application/json', 'application/a2a+json'],
  events: z.looseObject({}),
  errors: 'StatusError',
  ...(method === 'GET' ? {} : { status: method === 'POST' ? [200, 201] : 204 }),
})
