import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type * as z from 'zod'
import { ShoalError } from '../../shared/errors.ts'
import { firstIssue } from '../../shared/wire/openai.ts'
import { OPERATOR_ROLES } from '../keys/key.ts'
import type { Context, Views } from '../operations/context.ts'
import { type Operation, pathFields } from '../operations/operation.ts'
import { subjectOf } from './answer-headers.ts'
import { createCallLimits } from './call-limits.ts'

export interface OperationParts {
  operations: readonly Operation[]
  views: Views
}

const DEFAULT_TIMEOUT_SECONDS = 30

/** The REST form of every operation: path, query and body together are its input. */
export const operationRoutes: FastifyPluginAsync<OperationParts> = async (
  app,
  { operations, views },
) => {
  const countCall = createCallLimits()
  for (const operation of operations)
    app.route({
      method: operation.method,
      url: operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      config: { access: operation.access === 'none' ? 'none' : 'key' },
      handler: async (request, reply) => {
        requireRole(request, operation)
        countCall(subjectOf(request).id, request.key)
        const input = inputOf(request, operation)
        return operation.output.encode(
          await operation.run(input, contextOf(request, reply, operation, views)),
        )
      },
    })
}

const requireRole = (request: FastifyRequest, { access, roles }: Operation): void => {
  if (access !== 'operator') return
  const wanted: readonly string[] = roles ?? OPERATOR_ROLES
  if (request.key?.roles.some(role => wanted.includes(role))) return
  throw new ShoalError('forbidden', `this needs a key with the role ${wanted.join(' or ')}`)
}

const inputOf = (request: FastifyRequest, { input, method, path }: Operation): never => {
  const params = request.params as Record<string, string>
  const query = fromQuery(input, request.query as Record<string, unknown>)
  const body = method === 'GET' ? {} : (request.body ?? {})
  if (typeof body !== 'object' || Array.isArray(body))
    throw new ShoalError('invalid_request', 'the body must be an object')
  const named = Object.fromEntries(pathFields(path).map(field => [field, params[field]]))
  const result = input.safeParse({ ...query, ...body, ...named })
  if (result.success) return result.data as never
  const { param, message } = firstIssue(result.error)
  throw new ShoalError('invalid_request', message, param === undefined ? {} : { param })
}

/** A query has only text: where the schema takes no text, it is read as JSON. */
const fromQuery = (input: z.ZodObject, query: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(query).map(([name, value]) => {
      const takesText = input.shape[name]?.safeParse(value).success ?? true
      return [name, takesText || typeof value !== 'string' ? value : fromText(value)]
    }),
  )

const fromText = (text: string): unknown =>
  /^(true|false|-?\d+(\.\d+)?)$/.test(text) ? JSON.parse(text) : text

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
