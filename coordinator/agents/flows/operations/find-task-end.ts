import type { Task } from '@a2a-js/sdk'
import { isFinal, stateName, TaskState } from '../../../calls/tasks/task-state.ts'
import type { StepResult } from '../step-caller.ts'

/** Result of a step whose skill runs as a task: the data of its result, once it has ended. */
export const findTaskEnd = ({ id, status, artifacts }: Task): StepResult => {
  const state = status?.state
  if (!isFinal(state)) return { kind: 'waiting', reason: `waiting for task ${id}` }
  if (state !== TaskState.TASK_STATE_COMPLETED)
    return { kind: 'failed', reason: `task ${id} is ${stateName(state)}` }
  const content = artifacts.at(-1)?.parts[0]?.content
  return { kind: 'done', output: content?.$case === 'data' ? content.value : null }
}
