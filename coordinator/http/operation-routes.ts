import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import * as z from 'zod'
import { ShoalError } from '../../shared/errors.ts'
import { callOperation, requireAccess } from '../operations/call.ts'
import type { Context, Views } from '../operations/context.ts'
import { type Operation, pathFields } from '../operations/operation.ts'
import { Pending } from '../operations/pending.ts'
import type { Admission, Quota } from '../quota/quota.ts'
import { subjectOf } from './answer-headers.ts'
import { createCallLimits } from './call-limits.ts'
import type { RouteDocs } from './route-docs.ts'

export interface OperationParts {
  operations: readonly Operation[]
  views: Views
  quota: Pick<Quota, 'admit'>
  /** Unix time, milliseconds. */
  now: () => number
}

const DEFAULT_TIMEOUT_SECONDS = 30
const BODY_LIMIT_BYTES = 256 * 1024

/** The REST form of every operation: path, query and body together are its input. */
export const operationRoutes: FastifyPluginAsync<OperationParts> = async (
  app,
  { operations, views, quota, now },
) => {
  const countCall = createCallLimits()
  /** A key's calls count against its minute, those without a key against their address. */
  const count = async (request: FastifyRequest): Promise<Admission> => {
    if (request.key === undefined) return quota.admit(subjectOf(request), now())
    countCall(request.key.id, request.key)
    return KEPT
  }
  missingSkillRoute(app)
  for (const operation of operations)
    app.route({
      method: operation.method,
      url: operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      config: { access: operation.access === 'none' ? 'none' : 'key', operation },
      bodyLimit: BODY_LIMIT_BYTES,
      handler: async (request, reply) => {
        requireAccess(operation, request.key)
        const admission = await count(request)
        const context = contextOf(request, reply, operation, views)
        try {
          const answer = await callOperation(operation, inputOf(request, operation), context)
          return shownAs(answer, operation, request, reply)
        } catch (error) {
          // what was refused costs nothing
          if (error instanceof ShoalError) admission.refund()
          throw error
        }
      },
    })
}

/** JSON, text, or 202 for what people have to approve first. */
const shownAs = (
  answer: unknown,
  operation: Operation,
  request: FastifyRequest,
  reply: FastifyReply,
): unknown => {
  if (answer instanceof Pending) {
    reply.code(202)
    return answer.view
  }
  return operation.text === undefined ? answer : sendText(request, reply, operation.text, answer)
}

/** The next page is told as RFC 8288 has it: `link: </path?…>; rel="next"`. */
const sendText = (
  request: FastifyRequest,
  reply: FastifyReply,
  { body, type, next }: NonNullable<Operation['text']>,
  answer: unknown,
): unknown => {
  const fields = answer as Record<string, string | number | null>
  if (fields[type] === null) return withoutText(fields, [body, type])
  const page = (next && fields[next.field]) ?? null
  if (next !== undefined && page !== null) {
    const url = new URL(request.url, 'http://coordinator')
    url.searchParams.set(next.input, String(page))
    reply.header('link', `<${url.pathname}${url.search}>; rel="next"`)
  }
  reply.type(String(fields[type]))
  return fields[body]
}

const withoutText = (fields: object, names: readonly string[]): object =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))

const KEPT: Admission = { refund: () => {} }

const CALL_SKILL: RouteDocs = {
  id: 'call-skill',
  tag: 'skills',
  summary: 'Call a skill by its id; each skill is described at its own path.',
  body: z.record(z.string(), z.unknown()),
  answer: z.record(z.string(), z.unknown()),
}

/** Skills have paths of their own; here is what asks for one that is not there. */
const missingSkillRoute = (app: FastifyInstance): void => {
  app.post('/v1/skills/:skill_id', { config: { docs: CALL_SKILL } }, async request => {
    const { skill_id } = request.params as { skill_id: string }
    throw new ShoalError('not_found', `no skill ${skill_id}; GET /v1/skills lists them`)
  })
}

/** What they hold is checked where the operation is called; no field may come twice. */
const inputOf = (request: FastifyRequest, { input, method, path }: Operation): object => {
  const body: unknown = method === 'GET' ? {} : (request.body ?? {})
  if (typeof body !== 'object' || Array.isArray(body))
    throw new ShoalError('invalid_request', 'the body must be an object')
  const params = request.params as Record<string, string>
  const named = pathFields(path).map((field): [string, unknown] => [field, params[field]])
  const all = [
    ...Object.entries(request.query as object).map(([name, value]) => [
      name,
      fromQuery(input, name, value),
    ]),
    ...Object.entries(body as object),
    ...named,
  ] as [string, unknown][]
  const seen = new Set<string>()
  for (const [param] of all) {
    if (seen.has(param)) throw new ShoalError('invalid_request', `${param} came twice`, { param })
    seen.add(param)
  }
  return Object.fromEntries(all)
}

/** A query has only text: it is read as what the field takes, a list of one included. */
const fromQuery = (input: z.ZodObject, name: string, value: unknown): unknown => {
  const schema = Object.hasOwn(input.shape, name) ? input.shape[name] : undefined
  if (schema === undefined || typeof value !== 'string') return value
  return [value, fromText(value), [value]].find(each => schema.safeParse(each).success) ?? value
}

const fromText = (text: string): unknown =>
  /^(true|false|-?(0|[1-9]\d*)(\.\d+)?)$/.test(text) ? JSON.parse(text) : text

const contextOf = (
  request: FastifyRequest,
  reply: FastifyReply,
  operation: Operation,
  views: Views,
): Context => {
  const { key, tenantId, id: requestId } = request
  const timeout = AbortSignal.timeout((operation.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS) * 1000)
  const left = new AbortController()
  reply.raw.once('close', () => left.abort())
  return {
    ...views,
    key,
    tenantId,
    requestId,
    actor: { actor: key === undefined ? 'anonymous' : `key:${key.id}`, requestId },
    signal: AbortSignal.any([timeout, left.signal]),
  }
}
