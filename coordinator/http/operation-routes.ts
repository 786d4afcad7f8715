import type {
  FastifyInstance,
  FastifyPluginAsync,
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
} from 'fastify'
import * as z from 'zod'
import { ShoalError } from '../../shared/errors.ts'
import type { Idempotency } from '../idempotency/idempotency.ts'
import type { Keys } from '../keys/keys.ts'
import { callOperation, requireAccess, valid } from '../operations/call.ts'
import type { Progress, Tell, Views } from '../operations/context.ts'
import { type Deprecation, type Operation, pathFields } from '../operations/operation.ts'
import type { OperationTasks } from '../operations/operation-tasks.ts'
import { Pending } from '../operations/pending.ts'
import { readText } from '../operations/text-input.ts'
import type { Admission, Quota } from '../quota/quota.ts'
import { subjectOf } from './answer-headers.ts'
import type { CountCall } from './call-limits.ts'
import { deprecationHeaders } from './deprecation.ts'
import { idempotent } from './idempotent.ts'
import { contextOf } from './operation-context.ts'
import type { RouteDocs } from './route-docs.ts'
import { sendEvents } from './send-events.ts'
import { whileKeyLasts } from './while-key-lasts.ts'

export interface OperationParts {
  operations: readonly Operation[]
  views: Views
  quota: Pick<Quota, 'admit'>
  countCall: CountCall
  idempotency?: Idempotency | undefined
  /** Unix time, milliseconds. */
  now: () => number
  /** Needed by operations that answer from a task. */
  tasks?: Pick<OperationTasks, 'begin'> | undefined
  /** Ends calls whose key has ended; without it they go on. */
  hold?: Keys['hold'] | undefined
}

const BODY_LIMIT_BYTES = 256 * 1024

/** The REST form of every operation: path, query and body together are its input. */
export const operationRoutes: FastifyPluginAsync<OperationParts> = async (
  app,
  { operations, views, quota, countCall, idempotency, now, hold, tasks },
) => {
  /** Its input was checked: what cannot be done is refused at once, not by the task. */
  const begun = async (
    request: FastifyRequest,
    operation: Operation,
    input: object,
    cellId: string | undefined,
  ) => {
    if (tasks === undefined) throw new ShoalError('internal', 'tasks cannot be run here')
    valid(operation, input)
    const { key, tenantId, id: requestId } = request
    const caller = { key, tenantId, requestId }
    const { taskId, start } = await tasks.begin({ operation, input, caller, cellId })
    start()
    return { task_id: taskId }
  }
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
      ...(operation.deprecated === undefined
        ? {}
        : { onRequest: deprecates(operation.deprecated) }),
      handler: async (request, reply) => {
        requireAccess(operation, request.key)
        const admission = await count(request)
        try {
          const input = inputOf(request, operation)
          const cellId = cellOf(request, operation)
          const repeatable = { operation, input, cellId, idempotency }
          const run = (tell?: Tell) =>
            whileKeyLasts({ hold, request, operation }, ended => {
              const progress = tell && ((data: Progress) => tell({ event: 'progress', data }))
              const how = { views, ended, cellId, progress }
              const context = contextOf(request, reply, operation, how)
              return callOperation(operation, input, tell ? { ...context, tell } : context)
            })
          const answered = (tell?: Tell) =>
            idempotent(request, reply, repeatable, () =>
              operation.mode === 'task' ? begun(request, operation, input, cellId) : run(tell),
            )
          if (tellsMeanwhile(operation) && wantsEvents(request))
            return await sendEvents(reply, answered)
          return shownAs(await answered(), operation, request, reply)
        } catch (error) {
          // what was refused costs nothing
          if (error instanceof ShoalError) admission.refund()
          throw error
        }
      },
    })
}

/** On refusals too: who is not let in should hear of it as well. */
const deprecates = (deprecation: Deprecation): onRequestHookHandler => {
  const headers = deprecationHeaders(deprecation)
  return (_request, reply, done) => {
    reply.headers(headers)
    done()
  }
}

/** JSON, text, or 202 for a task that goes on and for what people have to approve first. */
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
  if (operation.mode === 'task')
    reply.code(202).header('location', `/v1/tasks/${(answer as { task_id: string }).task_id}`)
  if (operation.status !== undefined) reply.code(operation.status)
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
    const before = reply.getHeader('link')
    const link = `<${url.pathname}${url.search}>; rel="next"`
    reply.header('link', before === undefined ? link : `${before}, ${link}`)
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
const inputOf = (request: FastifyRequest, { input, method, path, onCell }: Operation): object => {
  const body: unknown = method === 'GET' ? {} : (request.body ?? {})
  if (typeof body !== 'object' || Array.isArray(body))
    throw new ShoalError('invalid_request', 'the body must be an object')
  const params = request.params as Record<string, string>
  const named = pathFields(path).map((field): [string, unknown] => [field, params[field]])
  const all = [
    ...Object.entries(request.query as object)
      .filter(([name]) => !(onCell && name === CELL))
      .map(([name, value]) => [name, readText(input, name, value)]),
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

/** The cell beside the input: for operations that take one. */
const CELL = 'cell'

const cellOf = (request: FastifyRequest, operation: Operation): string | undefined => {
  const cell = operation.onCell ? (request.query as Record<string, unknown>)[CELL] : undefined
  if (cell === undefined || typeof cell === 'string') return cell
  throw new ShoalError('invalid_request', 'cell came twice', { param: CELL })
}

const tellsMeanwhile = ({ mode, events }: Operation): boolean =>
  mode === 'stream' || events !== undefined

const wantsEvents = ({ headers }: FastifyRequest): boolean =>
  headers.accept?.includes('text/event-stream') === true
