import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type InputRequiredResult,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type ServerContext,
} from '@modelcontextprotocol/server'
import * as z from 'zod'
import {
  type ErrorCode,
  onwardOf,
  retryAfterOf,
  rpcCode,
  ShoalError,
} from '../../../shared/errors.ts'
import type { Key } from '../../kernel/declaration/key.ts'
import type { Operation } from '../../kernel/declaration/operation.ts'
import { bodyOf, type Outcome } from '../../kernel/declaration/outcome.ts'
import type { PendingResult } from '../../kernel/declaration/pending-result.ts'
import { type McpToolCall, toolCall } from './call-extras.ts'
import { CALL_TOOL, FIND_TOOLS, findTools, parseToolCall } from './finder-tools.ts'
import { CARD_URI, readingOf } from './resource.ts'
import type { VisibleLists } from './shown.ts'
import { beginTask, type CreateTaskResult, supportsTasks } from './task-handles.ts'
import { markReplayed, toErrorResult, toPendingResult, toToolResult } from './tool-answer.ts'
import type { ToolFinder } from './tool-finder.ts'

/** Caller of one request: the operations it may use, and how they are called. */
export interface McpCaller {
  key: Key
  shown: VisibleLists
  /** Counts a request answered from the lists alone as a read over REST. Throws `rate_limited`. */
  count: () => unknown
  /** Throws `ShoalError`. */
  call: (operation: Operation, call: McpToolCall) => Promise<Outcome>
  /** The agent card, available to every caller. */
  card: () => object
  /** Page on which a person can approve; undefined without a portal. */
  approvalUrl: (requestId: string) => string | undefined
  /** Receives failures that are not the caller's fault. */
  onError: (error: unknown) => void
}

export const callTool = async (
  caller: McpCaller,
  name: string,
  given: unknown,
  context: ServerContext,
): Promise<CallToolResult | InputRequiredResult | CreateTaskResult> => {
  const { byName, finder } = caller.shown
  try {
    if (finder !== undefined && name === FIND_TOOLS) return await find(caller, finder, given)
    if (finder !== undefined && name === CALL_TOOL) return await callFound(caller, given, context)
    const operation = byName.get(name)
    if (operation === undefined)
      throw createParamsError(`no tool ${JSON.stringify(name)}; tools/list lists them`)
    return await callOperation(caller, operation, given, context)
  } catch (error) {
    if (error instanceof ProtocolError) throw error
    return toErrorResult(toCallError(error, caller))
  }
}

const find = async (
  caller: McpCaller,
  finder: ToolFinder,
  given: unknown,
): Promise<CallToolResult> => {
  await caller.count()
  return toToolResult(findTools(finder, given))
}

/** A wrong name is an error that the model reads, since it chose the name itself. */
const callFound = (caller: McpCaller, given: unknown, context: ServerContext) => {
  const { name, arguments: input, idempotency_key: callKey } = parseToolCall(given)
  const operation = caller.shown.byName.get(name)
  if (operation !== undefined) return callOperation(caller, operation, input, context, callKey)
  const message = `no tool ${JSON.stringify(name)}; ${FIND_TOOLS} returns the names`
  throw new ShoalError('not_found', message, { param: 'name' })
}

const callOperation = async (
  caller: McpCaller,
  operation: Operation,
  given: unknown,
  context: ServerContext,
  callKey?: string,
): Promise<CallToolResult | InputRequiredResult | CreateTaskResult> => {
  const outcome = await caller.call(operation, toolCall(operation, given, context, callKey))
  if (outcome.kind === 'pending')
    return askToApprove(outcome.pending, caller, context) ?? toPendingResult(outcome.pending)
  if (outcome.kind === 'task' && supportsTasks(context)) return beginTask(caller, outcome, context)
  const success = outcome.kind === 'done' ? operation.success : undefined
  const result = toToolResult(bodyOf(outcome), success)
  return outcome.isReplay ? markReplayed(result) : result
}

/**
 * Capabilities that a client declares with each request (MCP 2026-07-28, basic protocol, `_meta`).
 */
const OpensPages = z.looseObject({
  [CLIENT_CAPABILITIES_META_KEY]: z.looseObject({
    elicitation: z.looseObject({ url: z.looseObject({}) }),
  }),
})

/**
 * Asks a client that can open a page once to open that of the request (MCP 2026-07-28, URL mode
 * elicitation). Its answer is ignored: the next call checks whether the request is approved.
 */
const askToApprove = (
  { view, isApproved }: PendingResult,
  caller: McpCaller,
  { mcpReq }: ServerContext,
): InputRequiredResult | undefined => {
  const url = caller.approvalUrl(view.request_id)
  if (isApproved || url === undefined || !OpensPages.safeParse(mcpReq.envelope).success)
    return undefined
  if (mcpReq.inputResponses !== undefined) return undefined
  const message = `Another person must approve this at ${view.gate_id}.`
  return inputRequired({ inputRequests: { approval: inputRequired.elicitUrl({ message, url }) } })
}

/** Reads a resource. Throws a protocol error if it is missing or cannot be read. */
export const readResource = async (
  caller: McpCaller,
  uri: string,
  signal: AbortSignal,
): Promise<ReadResourceResult> => {
  try {
    const reading = readingOf(uri, caller.shown.readable)
    if (reading !== undefined) {
      const { operation, input } = reading
      return read(uri, bodyOf(await caller.call(operation, { read: () => ({ input }), signal })))
    }
    await caller.count()
    if (uri === CARD_URI) return read(uri, caller.card())
    throw new ShoalError('not_found', `no resource ${JSON.stringify(uri)}`)
  } catch (error) {
    throw protocolError(toCallError(error, caller))
  }
}

/**
 * Codes that MCP reports as a wrong parameter, such as a missing resource (2026-07-28, resources,
 * error handling).
 */
const PARAMETERS: readonly ErrorCode[] = ['not_found', 'forbidden', 'tenant_forbidden']

/** A failure where there is no result to tell it in. */
export const protocolError = (error: ShoalError): ProtocolError => {
  const { code, message } = error
  const seconds = retryAfterOf(error)
  return new ProtocolError(
    PARAMETERS.includes(code) ? ProtocolErrorCode.InvalidParams : rpcCode(code),
    message,
    {
      code,
      ...onwardOf(error),
      ...(seconds === undefined ? {} : { retry_after_seconds: seconds }),
    },
  )
}

const read = (uri: string, answer: unknown): ReadResourceResult => ({
  contents: [{ uri, mimeType: 'application/json', text: JSON.stringify(answer) }],
})

const toCallError = (error: unknown, caller: McpCaller): ShoalError => {
  if (error instanceof ShoalError) return error
  caller.onError(error)
  return new ShoalError('internal', 'the coordinator failed to handle this call', { cause: error })
}

const createParamsError = (message: string): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, message)
