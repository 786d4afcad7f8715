import type { AuthInfo } from '@modelcontextprotocol/server'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import * as z from 'zod'
import { ShoalError } from '../../shared/errors.ts'
import type { Events } from '../events/bus.ts'
import { keyOf } from '../http/auth.ts'
import type { CountCall } from '../http/call-limits.ts'
import { onceWithKey } from '../http/idempotent.ts'
import { contextOf } from '../http/operation-context.ts'
import { requireOwnOrigin } from '../http/origin.ts'
import type { RouteDocs } from '../http/route-docs.ts'
import { createStreamPlaces } from '../http/stream-places.ts'
import { whileKeyLasts } from '../http/while-key-lasts.ts'
import type { Idempotency } from '../idempotency/idempotency.ts'
import type { Keys } from '../keys/keys.ts'
import { callOperation, requireAccess, valid } from '../operations/call.ts'
import type { Views } from '../operations/context.ts'
import type { Operation } from '../operations/operation.ts'
import type { OperationTasks } from '../operations/operation-tasks.ts'
import { IDEMPOTENCY_META_KEY } from './call-extras.ts'
import type { Caller } from './caller.ts'
import { mcpEndpoint } from './endpoint.ts'
import { createListening } from './listening.ts'
import { mcpServer } from './mcp-server.ts'
import { createShown } from './shown.ts'
import { listenOf, requireReadable } from './subscriptions.ts'

export interface McpParts {
  operations: readonly Operation[]
  views: Views
  countCall: CountCall
  events: Pick<Events, 'subscribe'>
  /** A reader of changes that takes nothing for so long is cut off. */
  stallMs: number
  /** The agent card. */
  card: () => object
  /** Needed by operations that answer from a task. */
  tasks?: Pick<OperationTasks, 'begin'> | undefined
  idempotency?: Idempotency | undefined
  logger: Pick<Logger, 'error' | 'debug'>
  /** Ends what is open under a key that has ended. */
  hold?: Keys['hold'] | undefined
  /** Names that a page may come from, besides loopback. */
  hosts: ReadonlySet<string>
  portal: string | undefined
}

/** Streams of changes at once. */
const MAX_STREAMS = 1024
/** And with one key, so that no key takes all of them. */
const MAX_STREAMS_PER_KEY = 32
const META_PARAM = `_meta[${IDEMPOTENCY_META_KEY}]`

const DOCS: RouteDocs = {
  id: 'mcp',
  tag: 'agent',
  summary: 'The Model Context Protocol: every operation as a tool.',
  body: z.looseObject({ jsonrpc: z.literal('2.0'), method: z.string() }),
  answer: z.looseObject({ jsonrpc: z.literal('2.0') }),
}

/** The MCP endpoint. Keys, roles and limits are those of REST; a tool is the same operation. */
export const mcpRoutes: FastifyPluginAsync<McpParts> = async (app, parts) => {
  const {
    operations,
    views,
    countCall,
    events,
    stallMs,
    logger,
    hosts,
    portal,
    hold,
    card,
    tasks,
    idempotency,
  } = parts

  const places = createStreamPlaces({ all: MAX_STREAMS, perKey: MAX_STREAMS_PER_KEY })

  /** Its input was checked: what cannot be done is refused at once, not by the task. */
  const begun = async (
    { key, tenantId, id: requestId }: FastifyRequest,
    operation: Operation,
    input: object,
    cellId: string | undefined,
  ) => {
    if (tasks === undefined) throw new ShoalError('internal', 'tasks cannot be run here')
    valid(operation, input)
    const caller = { key, tenantId, requestId }
    const { taskId, start } = await tasks.begin({ operation, input, caller, cellId })
    start()
    return { task_id: taskId }
  }

  const shown = createShown(operations)

  const callerOf = (request: FastifyRequest, reply: FastifyReply): Caller => {
    const key = keyOf(request)
    return {
      key,
      shown: shown(request.query, key),
      count: () => countCall(key.id, key),
      call: async (operation, input, { signal, cellId, progress, callKey }) => {
        requireAccess(operation, key)
        countCall(key.id, key)
        const run = () =>
          whileKeyLasts({ hold, request, operation }, ended => {
            const context = contextOf(request, reply, operation, { views, ended, cellId, progress })
            return callOperation(operation, input, {
              ...context,
              signal: AbortSignal.any([context.signal, signal]),
            })
          })
        const repeatable = { operation, input: input as object, cellId, idempotency, callKey }
        const { answer } = await onceWithKey(request, { ...repeatable, param: META_PARAM }, () =>
          operation.mode === 'task' ? begun(request, operation, input as object, cellId) : run(),
        )
        return answer
      },
      card,
      approvalUrl: id => portal && `${portal}/gates/requests/${encodeURIComponent(id)}`,
      failed: error => logger.error({ err: error, request: request.id }, 'a tool failed'),
    }
  }

  const admit = async (request: FastifyRequest, reply: FastifyReply): Promise<AuthInfo> => {
    requireOwnOrigin(request.headers.origin, hosts)
    const caller = callerOf(request, reply)
    await requireReadable(request.body, caller)
    return { token: '', clientId: caller.key.id, scopes: [...caller.key.roles], extra: { caller } }
  }

  mcpEndpoint(app, {
    docs: DOCS,
    access: 'key',
    admit,
    // a call ends by itself: it may have to say what it did
    whenEnded: (request, end) => {
      if (listenOf(request.body) === undefined) return () => {}
      const key = keyOf(request)
      const leave = places.take(key.id)
      const release = hold?.(key, { cut: end, tenantId: request.tenantId })
      return () => {
        release?.()
        leave()
      }
    },
    factory: ({ authInfo }) => {
      const caller = authInfo?.extra?.caller as Caller | undefined
      if (caller === undefined) throw new ShoalError('auth_required', 'this needs a key')
      return mcpServer(caller)
    },
    listening: (request, cut) => {
      const asked = listenOf(request.body)
      if (asked === undefined) return undefined
      const { tenantId, personId } = keyOf(request)
      return createListening({
        ...{ events, ...asked, stallMs },
        listener: { tenantId: request.tenantId ?? tenantId, personId },
        stalled: error => {
          logger.debug({ err: error, request: request.id }, 'a stream of changes was cut off')
          cut(error)
        },
      })
    },
    failed: error => logger.debug({ err: error }, 'an MCP request was refused'),
  })
}
