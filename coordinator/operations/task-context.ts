import type { Actor } from '../audit/audit.ts'
import type { Context, TaskCaller, Views } from './context.ts'

/** Who is written into the audit for a caller. */
export const actorOf = ({ key, requestId }: Pick<TaskCaller, 'key' | 'requestId'>): Actor => ({
  actor: key === undefined ? 'anonymous' : `key:${key.id}`,
  requestId,
})

/** What one call has, whatever surface it came through. */
export const contextFor = (
  views: Views,
  { key, tenantId, requestId }: TaskCaller,
  call: Pick<Context, 'signal' | 'progress' | 'cellId'>,
): Context => ({
  ...views,
  ...{ key, tenantId, requestId },
  actor: actorOf({ key, requestId }),
  ...call,
})
