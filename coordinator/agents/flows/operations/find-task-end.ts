import type { Task } from '../../../calls/tasks/task.ts'
import { isFinal } from '../../../calls/tasks/task-state.ts'
import type { StepResult } from '../step-caller.ts'

/** Result of a step whose skill runs as a task: the data of its result, once it has ended. */
export const findTaskEnd = ({ id, status: { state }, artifacts }: Task): StepResult => {
  if (!isFinal(state)) return { kind: 'waiting', reason: `waiting for task ${id}` }
  if (state !== 'completed') return { kind: 'failed', reason: `task ${id} is ${state}` }
  return { kind: 'done', output: artifacts.at(-1)?.parts[0]?.data ?? null }
}
