import { TaskState } from '@a2a-js/sdk'

export { TaskState }

const FINAL: readonly TaskState[] = [
  TaskState.TASK_STATE_COMPLETED,
  TaskState.TASK_STATE_FAILED,
  TaskState.TASK_STATE_CANCELED,
  TaskState.TASK_STATE_REJECTED,
]

/** True when no other state can follow. */
export const isFinal = (state: TaskState | undefined): boolean =>
  state !== undefined && FINAL.includes(state)

/** True when the task has ended or needs an action of the client before it continues. */
export const isSettled = (state: TaskState | undefined): boolean =>
  isFinal(state) ||
  state === TaskState.TASK_STATE_INPUT_REQUIRED ||
  state === TaskState.TASK_STATE_AUTH_REQUIRED

/** State names in the coordinator's own APIs: those of A2A 0.3. */
const NAMES = {
  [TaskState.TASK_STATE_SUBMITTED]: 'submitted',
  [TaskState.TASK_STATE_WORKING]: 'working',
  [TaskState.TASK_STATE_COMPLETED]: 'completed',
  [TaskState.TASK_STATE_FAILED]: 'failed',
  [TaskState.TASK_STATE_CANCELED]: 'canceled',
  [TaskState.TASK_STATE_INPUT_REQUIRED]: 'input-required',
  [TaskState.TASK_STATE_REJECTED]: 'rejected',
  [TaskState.TASK_STATE_AUTH_REQUIRED]: 'auth-required',
} as const
type Named = keyof typeof NAMES

type StateName = (typeof NAMES)[Named]
export const STATE_NAMES = Object.values(NAMES) as [StateName, ...StateName[]]

/** Throws TypeError for a state that the coordinator's tasks never have. */
export const stateName = (state: TaskState | undefined): StateName => {
  const name = state === undefined ? undefined : NAMES[state as Named]
  if (name === undefined) throw new TypeError(`no name for task state ${state}`)
  return name
}

export const toTaskState = (name: StateName): TaskState =>
  Number(Object.entries(NAMES).find(([, each]) => each === name)?.[0]) as TaskState
