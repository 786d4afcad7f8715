import * as z from 'zod'

/** States of a task: the words of the coordinator's own APIs, and those of its stored rows. */
const STORED_STATES = {
  submitted: 'TASK_STATE_SUBMITTED',
  working: 'TASK_STATE_WORKING',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  canceled: 'TASK_STATE_CANCELED',
  'input-required': 'TASK_STATE_INPUT_REQUIRED',
  rejected: 'TASK_STATE_REJECTED',
  'auth-required': 'TASK_STATE_AUTH_REQUIRED',
} as const

export type TaskState = keyof typeof STORED_STATES
type StoredState = (typeof STORED_STATES)[TaskState]

export const TASK_STATES = Object.keys(STORED_STATES) as [TaskState, ...TaskState[]]

const BY_STORED = new Map(TASK_STATES.map(state => [STORED_STATES[state], state]))

/** State of a stored row, which has the word of A2A 1.0. */
export const StoredTaskState = z.codec(
  z.enum(Object.values(STORED_STATES) as [StoredState, ...StoredState[]]),
  z.enum(TASK_STATES),
  {
    decode: stored => BY_STORED.get(stored) as TaskState,
    encode: state => STORED_STATES[state],
  },
)

const FINAL: readonly TaskState[] = ['completed', 'failed', 'canceled', 'rejected']

/** True when no other state can follow. */
export const isFinal = (state: TaskState | undefined): boolean =>
  state !== undefined && FINAL.includes(state)

/** True when the task has ended or needs an action of the client before it continues. */
export const isSettled = (state: TaskState | undefined): boolean =>
  isFinal(state) || state === 'input-required' || state === 'auth-required'
