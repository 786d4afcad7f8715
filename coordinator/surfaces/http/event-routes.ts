import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import { type Runtime, stopTimer, timeoutSignal } from '../../../shared/runtime.ts'
import { SSE_HEADERS } from '../../../shared/wire/sse.ts'
import { findKeyFault, isOperator } from '../../access/keys/key.ts'
import { accessError } from '../../calls/invoke/access.ts'
import type { Count } from '../../calls/invoke/count.ts'
import { seesAsked } from '../../calls/tasks/task-reader.ts'
import type { ReaderOf } from '../../calls/tasks/task-readers.ts'
import { DELTA_EVENT } from '../../discovery/entities/deltas.ts'
import type { Key } from '../../kernel/declaration/key.ts'
import type { Events } from '../../kernel/events/bus.ts'
import { type EventStream, type Outlet, openEventStream } from '../../kernel/events/event-stream.ts'
import { EventView, TypePattern } from '../../kernel/events/event-view.ts'
import type { EventsConfig } from '../../kernel/events/events-config.ts'
import { FAMILIES, type Hearer } from '../../kernel/events/topics.ts'
import type { EventMetrics } from '../metrics/event-metrics.ts'
import { taskCallerOf } from './answer-headers.ts'
import { type AuthParts, readPresentedKey, requireKey } from './auth.ts'
import { limitFlush } from './paced-lines.ts'
import type { RouteDocs } from './route-docs.ts'
import { createStreamPlaces } from './stream-places.ts'

export interface EventParts {
  config: EventsConfig
  source: string
  events: Events
  keys: AuthParts['keys']
  count: Count
  /** Task visibility of a key. */
  readerOf: ReaderOf
  metrics: EventMetrics
  isDraining: () => boolean
  /** Unix time, milliseconds. */
  now: () => number
  runtime: Pick<Runtime, 'setInterval' | 'setTimeout' | 'ids'>
}

const MAX_PATTERNS = 50
const Query = z.strictObject({
  types: z
    .string()
    .max(2000)
    .exactOptional()
    .describe(
      'Event types and families, comma-separated: shoal.gate.approved, shoal.cell.*. All by default.',
    ),
})
const EVENT_ID = /^[\x21-\x7e]{1,100}$/

const STREAM: RouteDocs = {
  id: 'events',
  tag: 'events',
  summary: 'Stream events as server-sent events; Last-Event-ID resumes an interrupted stream.',
  query: Query,
  answer: 'events',
  events: EventView,
}
const DISCOVERY_STREAM: RouteDocs = {
  id: 'discovery-events',
  tag: 'discovery',
  summary:
    'Stream changes of the inventory as server-sent events; Last-Event-ID resumes an interrupted stream.',
  answer: 'events',
  events: EventView,
}
/** A key that is revoked or changed is noticed within it. */
const RECHECK_MS = 1000

/** `GET /v1/events`. */
export const eventRoutes: FastifyPluginAsync<EventParts> = async (app, parts) => {
  const { config, events, keys, count, readerOf, metrics, isDraining, now, runtime, source } = parts
  const hearerOf = (key: Key, tenantId: string): Hearer => {
    const reader = readerOf({ key, tenantId })
    return { tenantId, operator: isOperator(key), sees: asked => seesAsked(reader, asked) }
  }
  const places = createStreamPlaces({
    all: config.max_streams,
    perKey: config.max_streams_per_key,
  })
  const open = new Set<{ stream: EventStream; recheck: () => Promise<void> }>()
  metrics.streams(() => places.count())
  const timeStall = () => timeoutSignal(runtime, config.stall_seconds * 1000)

  const beating = runtime.setInterval(() => {
    for (const { stream } of open) stream.heartbeat()
  }, config.heartbeat_seconds * 1000)
  const checking = runtime.setInterval(() => {
    for (const { recheck } of open) void recheck()
  }, RECHECK_MS)
  const endAll = (): void => {
    stopTimer(beating)
    stopTimer(checking)
    for (const { stream } of open) stream.close()
  }
  app.addHook('preClose', async () => endAll())
  app.addHook('onClose', async () => endAll())

  const sendStream = async (
    request: FastifyRequest,
    reply: FastifyReply,
    patterns: readonly string[],
  ): Promise<void> => {
    if (isDraining()) throw new ShoalError('draining', 'the coordinator is stopping')
    let key: Key = requireKey(request)
    const { tenantId = key.tenantId } = request
    const lastEventId = lastIdOf(request.headers['last-event-id'])
    await count(taskCallerOf(request))
    const leave = places.take(key.id)
    try {
      const headers = await app.answerHeaders(request)
      const { raw } = reply
      if (raw.destroyed) return leave()
      reply.hijack()
      raw.writeHead(200, { ...headers, ...SSE_HEADERS })
      if (request.method === 'HEAD') {
        raw.end()
        return leave()
      }
      let hearer = hearerOf(key, tenantId)
      const stream = openEventStream({
        events,
        patterns,
        lastEventId,
        source,
        now,
        runtime,
        outlet: outletOf(raw, timeStall),
        hearer: () => hearer,
        cut: metrics.cut,
      })
      /** Checks the key of the stream again; if the lookup fails, the next check repeats it. */
      const recheck = async (): Promise<void> => {
        const found = await Promise.resolve(
          keys.authenticate(readPresentedKey(request.headers) ?? ''),
        ).catch(() => key)
        const fault = findKeyFault(found, tenantId, now())
        if (fault !== undefined) {
          stream.close(fault)
          limitFlush(raw, true)
        } else if (found !== undefined && found !== key) {
          key = found
          hearer = hearerOf(key, tenantId)
        }
      }
      const entry = { stream, recheck }
      open.add(entry)
      const endStream = (): void => {
        open.delete(entry)
        stream.close()
        leave()
      }
      raw.once('close', endStream)
      if (raw.destroyed) endStream()
    } catch (error) {
      leave()
      throw error
    }
  }

  app.get('/v1/events', { config: { docs: STREAM } }, (request, reply) =>
    sendStream(request, reply, patternsOf(request.query)),
  )
  app.get('/a2a/discovery/subscribe', { config: { docs: DISCOVERY_STREAM } }, (request, reply) => {
    // other callers would get a stream without events
    const error = accessError({ access: 'operator' }, requireKey(request))
    if (error !== undefined) throw error
    return sendStream(request, reply, [DELTA_EVENT])
  })
}

const patternsOf = (query: unknown): string[] => {
  const parsed = Query.safeParse(query)
  const { types } = parsed.data ?? {}
  const patterns = types === undefined || types === '' ? [] : types.split(',')
  const fine = patterns.every(pattern => TypePattern.safeParse(pattern).success)
  if (parsed.success && fine && patterns.length <= MAX_PATTERNS) return patterns
  throw new ShoalError(
    'invalid_request',
    `types must be event types such as shoal.gate.approved, or the families ${FAMILIES}`,
    { param: 'types' },
  )
}

const lastIdOf = (header: unknown): string | undefined => {
  if (header === undefined || header === '') return undefined
  if (typeof header === 'string' && EVENT_ID.test(header)) return header
  throw new ShoalError('invalid_request', 'it is not an event id', { param: 'Last-Event-ID' })
}

const outletOf = (raw: ServerResponse, timeStall: () => AbortSignal): Outlet => ({
  write: text => raw.write(text),
  waitForDrain: async () => {
    if (!raw.writableNeedDrain) return !raw.destroyed
    const signal = timeStall()
    const waits = [once(raw, 'drain', { signal }), once(raw, 'close', { signal })]
    for (const wait of waits) wait.catch(() => {})
    await Promise.race(waits).catch(() => raw.destroy())
    return !raw.destroyed
  },
  end: () => void raw.end(),
})
