import type { ServerContext } from '@modelcontextprotocol/server'
import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import type { CallInput, Invocation } from '../../calls/invoke/invocation.ts'
import { CELL_FIELD } from '../../fleet/cells/cell-field.ts'
import type { Context } from '../../kernel/declaration/context.ts'
import type { Operation } from '../../kernel/declaration/operation.ts'

/** Idempotency key in `_meta`, which programs set and models cannot. */
const IDEMPOTENCY_META_KEY = 'io.shoal/idempotencyKey'

/** Name of the field beside the input of a tool that needs an idempotency key. */
export const CALL_KEY_FIELD = 'idempotency_key'

export const CallKeyField = z
  .string()
  .exactOptional()
  .describe(
    'New value for each live action; the same value only to retry a call whose answer was lost.',
  )

/** One call of a tool, as the pipeline takes it. */
export interface McpToolCall {
  read: () => CallInput
  signal: AbortSignal
  progress?: Context['progress'] | undefined
  repeat?: Invocation['repeat']
}

/**
 * Reads the call of a tool. `callKey` is the idempotency key that came beside the arguments. Throws
 * `invalid_request`.
 */
export const toolCall = (
  operation: Operation,
  given: unknown,
  { mcpReq }: ServerContext,
  callKey?: string,
): McpToolCall => {
  const { input, ownKey } = separateCallKey(operation, given)
  const keys = [
    { callKey: ownKey, param: CALL_KEY_FIELD },
    { callKey, param: CALL_KEY_FIELD },
    { callKey: mcpReq._meta?.[IDEMPOTENCY_META_KEY], param: META_PARAM },
  ]
  return {
    read: () => parseArguments(operation, input),
    signal: mcpReq.signal,
    repeat: requireSameKey(keys.filter(key => key.callKey !== undefined)),
    progress: progressTo(operation, mcpReq),
  }
}

const META_PARAM = `_meta[${IDEMPOTENCY_META_KEY}]`

type CallKey = NonNullable<Invocation['repeat']>

/** Separates the input from the idempotency key, which is a field beside it. */
const separateCallKey = ({ needsCallKey }: Operation, given: unknown) => {
  if (needsCallKey === undefined || !isObject(given)) return { input: given, ownKey: undefined }
  const { [CALL_KEY_FIELD]: ownKey, ...input } = given
  return { input, ownKey }
}

const requireSameKey = ([first, ...others]: readonly CallKey[]): CallKey | undefined => {
  if (others.every(({ callKey }) => callKey === first?.callKey)) return first
  throw new ShoalError('invalid_request', 'two different idempotency keys were given', {
    param: CALL_KEY_FIELD,
  })
}

const isObject = (given: unknown): given is Record<string, unknown> =>
  typeof given === 'object' && given !== null

/** Separates the input from the cell, which is a field beside it. */
const parseArguments = ({ onCell }: Operation, given: unknown): CallInput => {
  if (!onCell || !isObject(given)) return { input: given }
  const { [CELL_FIELD]: cellId, ...input } = given
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
