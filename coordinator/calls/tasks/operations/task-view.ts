import * as z from 'zod'
import { iso } from '../../../../shared/time.ts'
import type { Part, Task } from '../task.ts'
import type { TaskRun } from '../task-run.ts'
import { TASK_STATES } from '../task-state.ts'

export const TaskStateName = z.enum(TASK_STATES)
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

const findText = (parts: readonly Part[] = []): string | null =>
  parts.find(({ text }) => text !== undefined)?.text ?? null

const findData = (parts: readonly Part[] = []) =>
  (parts.find(({ data }) => data !== undefined)?.data ?? null) as z.core.util.JSONType

export const taskViewOf = ({ id, contextId, status }: Task, run: TaskRun) => ({
  id,
  context_id: contextId,
  state: status.state,
  operation: run.operationId ?? null,
  message: findText(status.message?.parts),
  details: findData(status.message?.parts),
  gate_request_id: run.waits === 'gate' ? (run.gateRequestId ?? null) : null,
  created_at: iso(run.createdAt),
  updated_at: status.timestamp,
})

export const taskDetailOf = (task: Task, run: TaskRun) => ({
  ...taskViewOf(task, run),
  result: findData(task.artifacts.at(-1)?.parts),
})
