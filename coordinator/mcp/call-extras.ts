import type { ServerContext } from '@modelcontextprotocol/server'
import { ShoalError } from '../../shared/errors.ts'
import type { Context } from '../operations/context.ts'
import type { Operation } from '../operations/operation.ts'
import { CELL } from './tool.ts'

/** Names a call, so that the same one again is not done twice; in `_meta`, as ours. */
export const IDEMPOTENCY_META_KEY = 'io.shoal/idempotencyKey'

/** What belongs to a call beside its input. */
export interface CallExtras {
  signal: AbortSignal
  cellId?: string | undefined
  progress?: Context['progress'] | undefined
  callKey?: unknown
}

/** The input alone, and what was sent with it. */
export const callExtras = (
  operation: Operation,
  given: unknown,
  { mcpReq }: ServerContext,
): { input: unknown; extras: CallExtras } => {
  const callKey = mcpReq._meta?.[IDEMPOTENCY_META_KEY]
  const extras = { signal: mcpReq.signal, callKey, progress: progressTo(operation, mcpReq) }
  if (!operation.onCell || typeof given !== 'object' || given === null)
    return { input: given, extras }
  const { [CELL]: cellId, ...input } = given as Record<string, unknown>
  if (cellId !== undefined && typeof cellId !== 'string')
    throw new ShoalError('invalid_request', 'cell must be text', { param: CELL })
  return { input, extras: { ...extras, cellId } }
}

/** For who gave a token (MCP 2026-07-28, progress): the number grows with each notification. */
const progressTo = (
  { mode }: Operation,
  { _meta, notify }: ServerContext['mcpReq'],
): Context['progress'] | undefined => {
  const progressToken = _meta?.progressToken
  if (mode !== 'stream' || progressToken === undefined) return undefined
  let last = 0
  return ({ done, total, message }) => {
    const progress = done ?? last + 1
    if (progress <= last) return
    last = progress
    const more = { ...(total === undefined ? {} : { total }), ...(message && { message }) }
    const params = { progressToken, progress, ...more }
    // who has left is not told
    notify({ method: 'notifications/progress', params }).catch(() => {})
  }
}
