import type { Task } from '@a2a-js/sdk'
import type { TaskTransitionRow } from '../../calls/tasks/task-transition.table.ts'
import { EXTENSIONS } from './extensions.ts'
import { historyLengthOf } from './request-checks.ts'

/** The task with at most `historyLength` of its newest messages. */
export const withHistory = (task: Task, historyLength: number | undefined): Task => {
  const length = historyLengthOf(historyLength)
  if (length === undefined) return task
  return { ...task, history: length === 0 ? [] : task.history.slice(-length) }
}

/** The task with its state transitions, in the form of the extension. */
export const withTransitions = (task: Task, rows: readonly TaskTransitionRow[]): Task => ({
  ...task,
  metadata: { ...task.metadata, [EXTENSIONS.transitions]: { transitions: rows.map(toTransition) } },
})

const toTransition = ({
  from_state,
  to_state,
  at,
  actor,
  reason,
  gate_request_id,
  hash,
}: TaskTransitionRow) => ({
  from: from_state,
  to: to_state,
  at: new Date(at).toISOString(),
  actor,
  reason,
  gate_request_id,
  hash,
})
