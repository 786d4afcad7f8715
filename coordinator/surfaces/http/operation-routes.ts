import { tmpdir } from 'node:os'
import { Readable } from 'node:stream'
import type {
  FastifyInstance,
  FastifyPluginAsync,
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
} from 'fastify'
import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import type { CallInput, Invocation } from '../../calls/invoke/invocation.ts'
import type { Pipeline } from '../../calls/invoke/invoke.ts'
import { CELL_FIELD } from '../../fleet/cells/cell-field.ts'
import { type Deprecation, pathFields } from '../../kernel/declaration/declaration.ts'
import type { Operation } from '../../kernel/declaration/operation.ts'
import { bodyOf, type Outcome } from '../../kernel/declaration/outcome.ts'
import { readText } from '../../kernel/declaration/text-input.ts'
import { taskCallerOf } from './answer-headers.ts'
import { deprecationHeaders } from './deprecation.ts'
import { type ReceivedUpload, receiveUpload } from './receive-upload.ts'
import type { RouteDocs } from './route-docs.ts'
import { type StreamListener, sendEvents, sendText } from './send-events.ts'

interface OperationParts {
  operations: readonly Operation[]
  invoke: Pipeline['invoke']
  /** Folder for the files of running calls; the temporary one of the system by default. */
  uploadFolder?: string
}

const BODY_LIMIT_BYTES = 256 * 1024

/** The REST form of every operation: path, query and body together are its input. */
export const operationRoutes: FastifyPluginAsync<OperationParts> = async (app, parts) => {
  addMissingSkillRoute(app)
  for (const operation of parts.operations) {
    if (operation.upload === undefined) addRoute(app, operation, parts)
    else await app.register(async scope => addUploadRoute(scope, operation, parts))
  }
}

const addRoute = (app: FastifyInstance, operation: Operation, parts: OperationParts): void => {
  app.route({
    method: operation.method,
    url: operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    config: { access: operation.access === 'none' ? 'none' : 'key', operation },
    bodyLimit: BODY_LIMIT_BYTES,
    ...(operation.deprecated === undefined
      ? {}
      : { onRequest: createDeprecationHook(operation.deprecated) }),
    handler: async (request, reply) => {
      const upload = createUpload(request, operation, parts)
      const call = async (listener?: StreamListener): Promise<Outcome> => {
        const invocation = invocationOf(request, reply, { operation, listener, upload })
        const outcome = await parts.invoke(invocation)
        if ('isReplay' in outcome && outcome.isReplay) reply.header('idempotency-replayed', 'true')
        return outcome
      }
      try {
        if (operation.sendsText) return await sendText(reply, call)
        return sendsEvents(operation) && wantsEvents(request)
          ? await sendEvents(reply, call)
          : sendOutcome(await call(), operation, request, reply)
      } finally {
        await upload?.close()
      }
    },
  })
}

/** Bodies of its media types reach the handler as streams; every other type is refused. */
const addUploadRoute = (
  scope: FastifyInstance,
  operation: Operation,
  parts: OperationParts,
): void => {
  const types = [...(operation.upload ?? [])]
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(types, (_request, payload, done) => done(null, payload))
  scope.addContentTypeParser('*', (_request, _payload, done) =>
    done(new ShoalError('unsupported_media_type', `content-type must be ${types.join(' or ')}`)),
  )
  addRoute(scope, operation, parts)
}

interface PendingUpload {
  receive(): Promise<ReceivedUpload>
  close(): Promise<void>
}

/** The file of a call, which is received once its caller was admitted. */
const createUpload = (
  { body, headers }: FastifyRequest,
  { upload }: Operation,
  { uploadFolder = tmpdir() }: OperationParts,
): PendingUpload | undefined => {
  if (upload === undefined) return undefined
  let received: ReceivedUpload | undefined
  return {
    receive: async () => {
      if (!(body instanceof Readable))
        throw new ShoalError('invalid_request', `the body must be a file: ${upload.join(', ')}`)
      received = await receiveUpload(body, headers['content-type'] ?? '', uploadFolder)
      return received
    },
    close: async () => received?.close(),
  }
}

const invocationOf = (
  request: FastifyRequest,
  reply: FastifyReply,
  {
    operation,
    listener,
    upload,
  }: {
    operation: Operation
    listener: StreamListener | undefined
    upload: PendingUpload | undefined
  },
): Invocation => {
  const left = new AbortController()
  // a response that was sent completely closes too: an abort would only cost an exception then
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) left.abort()
  })
  const callKey = request.headers['idempotency-key']
  return {
    operation,
    caller: taskCallerOf(request),
    read: async () => {
      const parsed = parseRequest(request, operation)
      return upload === undefined ? parsed : { ...parsed, upload: await upload.receive() }
    },
    repeat: callKey === undefined ? undefined : { callKey, param: 'Idempotency-Key' },
    signals: [left.signal],
    listener: listener && {
      ...listener,
      progress: data => listener.tell({ event: 'progress', data }),
    },
  }
}

/**
 * Deprecation headers are set on refusals too, so that a client without access sees them as well.
 */
const createDeprecationHook = (deprecation: Deprecation): onRequestHookHandler => {
  const headers = deprecationHeaders(deprecation)
  return (_request, reply, done) => {
    reply.headers(headers)
    done()
  }
}

/** JSON or text, or 202 for a running task or a plan that awaits approval. */
const sendOutcome = (
  outcome: Outcome,
  operation: Operation,
  request: FastifyRequest,
  reply: FastifyReply,
): unknown => {
  if (outcome.kind === 'done') {
    if (operation.status !== undefined) reply.code(operation.status)
    const { output } = outcome
    return operation.text === undefined ? output : sendPage(request, reply, operation.text, output)
  }
  reply.code(202)
  if (outcome.kind === 'task') reply.header('location', `/v1/tasks/${outcome.taskId}`)
  return bodyOf(outcome)
}

/** The next page is linked as in RFC 8288: `link: </path?…>; rel="next"`. */
const sendPage = (
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

const CALL_SKILL: RouteDocs = {
  id: 'call-skill',
  tag: 'skills',
  summary: 'Call a skill by its id; each skill is documented at its own path.',
  body: z.record(z.string(), z.unknown()),
  answer: z.record(z.string(), z.unknown()),
}

/** Answers calls of skills that do not exist; existing skills have their own paths. */
const addMissingSkillRoute = (app: FastifyInstance): void => {
  app.post('/v1/skills/:skill_id', { config: { docs: CALL_SKILL } }, async request => {
    const { skill_id } = request.params as { skill_id: string }
    throw createUnknownError('skill', skill_id)
  })
}

/** Path, query and body as one input; its values are checked by the pipeline. No field may come twice. */
const parseRequest = (request: FastifyRequest, operation: Operation): CallInput => {
  const { input, method, path, onCell } = operation
  const hasBody = method !== 'GET' && operation.upload === undefined
  const body: unknown = hasBody ? (request.body ?? {}) : {}
  if (typeof body !== 'object' || Array.isArray(body))
    throw new ShoalError('invalid_request', 'the body must be an object')
  const params = request.params as Record<string, string>
  const named = pathFields(path).map((field): [string, unknown] => [field, params[field]])
  const all = [
    ...Object.entries(request.query as object)
      .filter(([name]) => !(onCell && name === CELL_FIELD))
      .map(([name, value]) => [name, readText(input, name, value)]),
    ...Object.entries(body as object),
    ...named,
  ] as [string, unknown][]
  const seen = new Set<string>()
  for (const [param] of all) {
    if (seen.has(param))
      throw new ShoalError('invalid_request', `${param} is given twice`, { param })
    seen.add(param)
  }
  return { input: Object.fromEntries(all), cellId: cellOf(request, operation) }
}

const cellOf = (request: FastifyRequest, operation: Operation): string | undefined => {
  const cell = operation.onCell ? (request.query as Record<string, unknown>)[CELL_FIELD] : undefined
  if (cell === undefined || typeof cell === 'string') return cell
  throw new ShoalError('invalid_request', 'cell is given twice', { param: CELL_FIELD })
}

/** True for operations that report while they run. */
const sendsEvents = ({ mode, events }: Operation): boolean =>
  mode === 'stream' || events !== undefined

const wantsEvents = ({ headers }: FastifyRequest): boolean =>
  headers.accept?.includes('text/event-stream') === true
