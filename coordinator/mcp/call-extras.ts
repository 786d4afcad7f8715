import type { ServerContext } from '@modelcontextprotocol/server'
import { ShoalError } from '../../shared/errors.ts'
import { CELL_FIELD } from '../operations/cell-field.ts'
import type { Context } from '../operations/context.ts'
import type { CallInput } from '../operations/invoke/invocation.ts'
import type { Operation } from '../operations/operation.ts'

/** Names a call, so that the same one again is not done twice; in `_meta`, as ours. */
export const IDEMPOTENCY_META_KEY = 'io.shoal/idempotencyKey'

/** One call of a tool, as the pipeline takes it. */
export interface McpToolCall {
  read: () => CallInput
  signal: AbortSignal
  progress?: Context['progress'] | undefined
  callKey?: unknown
}

export const toolCall = (
  operation: Operation,
  given: unknown,
  { mcpReq }: ServerContext,
): McpToolCall => ({
  read: () => parseArguments(operation, given),
  signal: mcpReq.signal,
  callKey: mcpReq._meta?.[IDEMPOTENCY_META_KEY],
  progress: progressTo(operation, mcpReq),
})

/** Separates the input from the cell, which is a field beside it. */
const parseArguments = ({ onCell }: Operation, given: unknown): CallInput => {
  if (!onCell || typeof given !== 'object' || given === null) return { input: given }
  const { [CELL_FIELD]: cellId, ...input } = given as Record<string, unknown>
  if (cellId === undefined || typeof cellId === 'string') return { input, cellId }
  throw new ShoalError('invalid_request', 'cell must be a string', { param: CELL_FIELD })
}

/**
 * Sends progress to clients that gave a token (MCP 2026-07-28, progress): the number grows with
 * each notification.
 */
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
    // a client that has disconnected gets no notification
    notify({ method: 'notifications/progress', params }).catch(() => {})
  }
}
