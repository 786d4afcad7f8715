import { iso } from '../../../shared/time.ts'
import type { Task } from '../../calls/tasks/task.ts'
import type { TaskTransition } from '../../calls/tasks/task-transition.table.ts'
import { EXTENSIONS } from './extensions.ts'
import { historyLengthOf } from './request-checks.ts'

/** The task with at most `historyLength` of its newest messages. */
export const withHistory = (task: Task, historyLength: number | undefined): Task => {
  const length = historyLengthOf(historyLength)
  if (length === undefined) return task
  return { ...task, history: length === 0 ? [] : task.history.slice(-length) }
}

/** The task with its state transitions, in the form of the extension. */
export const withTransitions = (task: Task, transitions: readonly TaskTransition[]): Task => ({
  ...task,
  metadata: {
    ...task.metadata,
    [EXTENSIONS.transitions]: { transitions: transitions.map(toTransition) },
  },
})

const toTransition = ({
  fromState,
  toState,
  at,
  actor,
  reason,
  gateRequestId,
  hash,
}: TaskTransition) => ({
  from: fromState ?? null,
  to: toState,
  at: iso(at),
  actor,
  reason: reason ?? null,
  gate_request_id: gateRequestId ?? null,
  hash,
})
