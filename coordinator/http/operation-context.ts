import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context, Views } from '../operations/context.ts'
import type { Operation } from '../operations/operation.ts'
import { contextFor } from '../operations/task-context.ts'
import { networkOf } from './answer-headers.ts'

const DEFAULT_TIMEOUT_SECONDS = 30

export interface How {
  views: Views
  /** Ends the call, beside its time and the caller who leaves. */
  ended?: AbortSignal | undefined
  cellId?: string | undefined
  progress?: Context['progress'] | undefined
}

/** One call of an operation for who sent this request. */
export const contextOf = (
  request: FastifyRequest,
  reply: FastifyReply,
  operation: Operation,
  { views, ended, cellId, progress = () => {} }: How,
): Context => {
  const { key, tenantId, id: requestId } = request
  const timeout = AbortSignal.timeout((operation.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS) * 1000)
  const left = new AbortController()
  reply.raw.once('close', () => left.abort())
  const signal = AbortSignal.any([timeout, left.signal, ...(ended === undefined ? [] : [ended])])
  const address = networkOf(request.ip)
  return {
    ...contextFor(views, { key, tenantId, requestId }, { signal, progress, cellId }),
    address,
  }
}
