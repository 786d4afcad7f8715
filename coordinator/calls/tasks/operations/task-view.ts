import type { Part, Task } from '@a2a-js/sdk'
import * as z from 'zod'
import type { TaskRun } from '../task-run.ts'
import { STATE_NAMES, stateName } from '../task-state.ts'

export const TaskStateName = z.enum(STATE_NAMES)
export const TaskId = z.string().min(1).max(128)

export const TaskView = z.object({
  id: z.string(),
  /** The conversation that it is part of. */
  context_id: z.string(),
  state: TaskStateName,
  /** Null while the operation is unknown. */
  operation: z.string().nullable(),
  /** Text of the latest status message. */
  message: z.string().nullable(),
  /** Progress, the missing input, the gate, or the error. */
  details: z.json().nullable(),
  /** The request at a gate that it waits for. */
  gate_request_id: z.string().nullable(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
})

/** View of a task with its results. */
export const TaskDetail = TaskView.extend({
  /** The output of the operation, when it is completed. */
  result: z.json().nullable(),
})

const findContent = (parts: readonly Part[] | undefined, kind: 'text' | 'data') =>
  parts?.find(({ content }) => content?.$case === kind)?.content?.value ?? null

export const taskViewOf = ({ id, contextId, status }: Task, run: TaskRun) => ({
  id,
  context_id: contextId,
  state: stateName(status?.state),
  operation: run.operationId ?? null,
  message: findContent(status?.message?.parts, 'text') as string | null,
  details: findContent(status?.message?.parts, 'data') as z.core.util.JSONType,
  gate_request_id: run.waits === 'gate' ? (run.gateRequestId ?? null) : null,
  created_at: new Date(run.createdAt).toISOString(),
  updated_at: status?.timestamp ?? new Date(run.createdAt).toISOString(),
})

export const taskDetailOf = (task: Task, run: TaskRun) => ({
  ...taskViewOf(task, run),
  result: findContent(task.artifacts.at(-1)?.parts, 'data') as z.core.util.JSONType,
})
