import type { AuthInfo } from '@modelcontextprotocol/server'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import type { Keys } from '../../access/keys/keys.ts'
import type { Pipeline } from '../../calls/invoke/invoke.ts'
import type { Operation } from '../../kernel/declaration/operation.ts'
import type { Events } from '../../kernel/events/bus.ts'
import { taskCallerOf as callerIn } from '../http/answer-headers.ts'
import { requireKey } from '../http/auth.ts'
import type { CorsPolicy } from '../http/cors.ts'
import { requireOwnOrigin } from '../http/origin.ts'
import type { RouteDocs } from '../http/route-docs.ts'
import { createStreamPlaces } from '../http/stream-places.ts'
import type { McpCaller } from './caller.ts'
import { mcpEndpoint } from './endpoint.ts'
import { createListening } from './listening.ts'
import { createShown } from './shown.ts'
import { listenOf, requireReadable } from './subscriptions.ts'

interface McpParts {
  operations: readonly Operation[]
  pipeline: Pipeline
  events: Pick<Events, 'subscribe'>
  /** A reader of changes that reads nothing for this time is disconnected. */
  stallMs: number
  /** The agent card. */
  card: () => object
  logger: Pick<Logger, 'error' | 'debug'>
  /** Ends the open streams of a key when the key ends. */
  hold?: Keys['hold'] | undefined
  /** Names that a page may come from, besides loopback. */
  hosts: ReadonlySet<string>
  cors: Pick<CorsPolicy, 'allows'>
  portal: string | undefined
}

/** Streams of changes at once. */
const MAX_STREAMS = 1024
/** Limit per key, so that no key takes all streams. */
const MAX_STREAMS_PER_KEY = 32

const RpcAnswer = z.looseObject({ jsonrpc: z.literal('2.0') })
const DOCS: RouteDocs = {
  id: 'mcp',
  tag: 'agent',
  summary: 'The Model Context Protocol: every operation as a tool.',
  body: z.looseObject({ jsonrpc: z.literal('2.0'), method: z.string() }),
  answer: RpcAnswer,
  // a notification is accepted without a body
  status: [200, 202],
  events: RpcAnswer,
  errors: 'McpError',
}

/** The MCP endpoint. Keys, roles and limits are those of REST; a tool is the same operation. */
export const mcpRoutes: FastifyPluginAsync<McpParts> = async (app, parts) => {
  const { operations, pipeline, events, stallMs, logger, hosts, cors, portal, hold, card } = parts
  const places = createStreamPlaces({ all: MAX_STREAMS, perKey: MAX_STREAMS_PER_KEY })

  const shown = createShown(operations)

  const callerOf = (request: FastifyRequest, reply: FastifyReply): McpCaller => {
    const key = requireKey(request)
    const caller = callerIn(request)
    const left = new AbortController()
    reply.raw.once('close', () => left.abort())
    return {
      key,
      shown: shown(request.query, key),
      count: () => pipeline.count(caller),
      call: (operation, { read, repeat, signal, progress }) =>
        pipeline.invoke({
          operation,
          caller,
          read,
          repeat,
          signals: [left.signal, signal],
          listener: { progress },
        }),
      card,
      approvalUrl: id => portal && `${portal}/gates/requests/${encodeURIComponent(id)}`,
      onError: error => logger.error({ err: error, request: request.id }, 'a tool failed'),
    }
  }

  const admit = async (request: FastifyRequest, reply: FastifyReply): Promise<AuthInfo> => {
    requireOwnOrigin(request.headers.origin, hosts, cors)
    const caller = callerOf(request, reply)
    await requireReadable(request.body, caller)
    return { token: '', clientId: caller.key.id, scopes: [...caller.key.roles], extra: { caller } }
  }

  mcpEndpoint(app, {
    docs: DOCS,
    access: 'key',
    admit,
    // a call is not cut off here: its response may have to report its effects
    acquireStream: (request, end) => {
      if (listenOf(request.body) === undefined) return () => {}
      const key = requireKey(request)
      const leave = places.take(key.id)
      const release = hold?.(key, { cut: end, tenantId: request.tenantId })
      return () => {
        release?.()
        leave()
      }
    },
    factory: async ({ authInfo }) => {
      const caller = authInfo?.extra?.caller as McpCaller | undefined
      if (caller === undefined) throw new ShoalError('auth_required', 'this call needs a key')
      const { mcpServer } = await import('./mcp-server.ts')
      return mcpServer(caller)
    },
    listening: (request, cut) => {
      const asked = listenOf(request.body)
      if (asked === undefined) return undefined
      const { tenantId, personId } = requireKey(request)
      return createListening({
        events,
        ...asked,
        stallMs,
        listener: { tenantId: request.tenantId ?? tenantId, personId },
        onStalled: error => {
          logger.debug({ err: error, request: request.id }, 'a stream of changes was cut off')
          cut(error)
        },
      })
    },
    onError: error => logger.debug({ err: error }, 'an MCP request was refused'),
  })
}
