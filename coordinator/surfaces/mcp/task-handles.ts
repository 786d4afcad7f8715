import {
  CLIENT_CAPABILITIES_META_KEY,
  type Result,
  type ServerContext,
} from '@modelcontextprotocol/server'
import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import type { TaskDetail } from '../../calls/tasks/operations/task-view.ts'
import tasksCancel from '../../calls/tasks/operations/tasks-cancel.ts'
import tasksShow from '../../calls/tasks/operations/tasks-show.ts'
import type { Operation } from '../../kernel/declaration/operation.ts'
import { bodyOf, type Outcome } from '../../kernel/declaration/outcome.ts'
import type { McpCaller } from './caller.ts'
import { toToolResult } from './tool-answer.ts'

/** Tasks extension of revision 2026-07-28 (SEP-2663, modelcontextprotocol/ext-tasks). */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks'

/** Suggested interval between two looks at a task. */
const POLL_INTERVAL_MS = 2000

export const TaskParams = z.looseObject({ taskId: z.string().min(1).max(128) })

/** A task of the extension: its state, and with the end its result. */
interface TaskHandle {
  taskId: string
  status: 'working' | 'completed' | 'cancelled'
  statusMessage?: string
  createdAt: string
  lastUpdatedAt: string
  ttlMs: null
  pollIntervalMs: number
}

/** Answer to a call that goes on as a task. */
export type CreateTaskResult = Result & TaskHandle & { resultType: 'task' }

type Shown = z.output<typeof TaskDetail>

const DeclaresTasks = z.looseObject({
  [CLIENT_CAPABILITIES_META_KEY]: z.looseObject({
    extensions: z.looseObject({ [TASKS_EXTENSION]: z.looseObject({}) }),
  }),
})

/** True for a request whose client accepts a task in place of the result of a tool. */
export const supportsTasks = ({ mcpReq }: ServerContext): boolean =>
  DeclaresTasks.safeParse(mcpReq.envelope).success

/** Handle of a task that a call began. Throws `ShoalError`. */
export const beginTask = async (
  caller: McpCaller,
  { taskId }: Extract<Outcome, { kind: 'task' }>,
  { mcpReq }: ServerContext,
): Promise<CreateTaskResult> => ({
  resultType: 'task',
  ...toHandle(await callTask(caller, tasksShow, taskId, mcpReq.signal)),
})

/** State of a task and, once it has ended, the result of its tool. Throws `ShoalError`. */
export const readTask = async (
  caller: McpCaller,
  taskId: string,
  signal: AbortSignal,
): Promise<Result> => {
  const shown = await callTask(caller, tasksShow, taskId, signal)
  const handle = toHandle(shown)
  return handle.status === 'completed' ? { ...handle, result: toResult(shown) } : { ...handle }
}

/** Cancels a task; one that has ended already is left as it is. Throws `ShoalError`. */
export const cancelTask = async (
  caller: McpCaller,
  taskId: string,
  signal: AbortSignal,
): Promise<Result> => {
  try {
    await callTask(caller, tasksCancel, taskId, signal)
  } catch (error) {
    if (!(error instanceof ShoalError && error.code === 'conflict')) throw error
  }
  return {}
}

const callTask = async (
  caller: McpCaller,
  operation: Operation,
  taskId: string,
  signal: AbortSignal,
): Promise<Shown> => {
  const read = () => ({ input: { task_id: taskId } })
  return bodyOf(await caller.call(operation, { read, signal })) as Shown
}

/**
 * Approvals are requested from other people, never from the client, so a waiting task is `working`.
 * `failed` of the extension is kept for errors of JSON-RPC; a tool that failed has a result.
 */
const toHandle = ({ id, state, message, created_at, updated_at }: Shown): TaskHandle => ({
  taskId: id,
  status: ENDS[state] ?? 'working',
  ...(message === null ? {} : { statusMessage: message }),
  createdAt: created_at,
  lastUpdatedAt: updated_at,
  ttlMs: null,
  pollIntervalMs: POLL_INTERVAL_MS,
})

const ENDS: Partial<Record<Shown['state'], TaskHandle['status']>> = {
  completed: 'completed',
  failed: 'completed',
  rejected: 'completed',
  canceled: 'cancelled',
}

const toResult = ({ state, result, message, details }: Shown): Result => {
  if (state === 'completed') return { resultType: 'complete', ...toToolResult(result ?? {}) }
  // the answer of an operation that says itself that it has failed
  if (state === 'failed' && result !== null && result !== undefined)
    return { resultType: 'complete', ...toToolResult(result), isError: true }
  const text = JSON.stringify({ error: { code: state, message, details } })
  return { resultType: 'complete', isError: true, content: [{ type: 'text', text }] }
}
