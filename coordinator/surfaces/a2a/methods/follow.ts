import type { StreamResponse } from '@a2a-js/sdk'
import { UnsupportedOperationError } from '@a2a-js/sdk/errors'
import type { A2ARequestHandler } from '@a2a-js/sdk/server'
import type { Subscription } from '../../../calls/tasks/subscription.ts'
import type { Task, TaskEvent } from '../../../calls/tasks/task.ts'
import { isFinal, type TaskState } from '../../../calls/tasks/task-state.ts'
import { eventToA2a } from '../a2a-shapes.ts'
import { type A2aCall, tenantFor } from '../call.ts'
import type { TaskScope } from './task-scope.ts'

export const followMethods = (scope: TaskScope): Pick<A2ARequestHandler, 'resubscribe'> => ({
  async *resubscribe({ id, tenant }) {
    const own = tenantFor(scope.call, tenant)
    const { status } = await scope.find(id, own)
    if (isFinal(status.state)) throw new UnsupportedOperationError(`task ${id} has ended`)
    yield* eventsOf(scope, id, own)
  },
})

interface EventOptions {
  /** Begins the turn that is followed. */
  start?: () => Promise<void>
  historyLength?: number | undefined
  /** True for a task that has nothing to wait for as it is. */
  isOver?: (task: Task) => boolean
}

/** Yields the task as it is, then its events until it has ended or waits for input. */
export async function* eventsOf(
  scope: TaskScope,
  taskId: string,
  tenant: string,
  { start = async () => {}, historyLength, isOver = () => false }: EventOptions = {},
): AsyncGenerator<StreamResponse, void, undefined> {
  const { task, events } = await scope.tasks.follow(taskId, scope.reader(tenant))
  const release = closeOnAbort(scope.call, events)
  try {
    yield { payload: { $case: 'task', value: await scope.show(task, historyLength) } }
    void start()
    if (isFinal(task.status.state) || isOver(task)) return
    for (let event = await events.next(); event !== undefined; event = await events.next()) {
      yield eventToA2a(event, task)
      const state = stateIn(event)
      if (isFinal(state) || state === 'input-required') return
    }
  } finally {
    // a client that leaves before it was begun must not keep the task from it
    void start()
    release()
    scope.tasks.unfollow(taskId, events)
  }
}

/** Follows a task while something is done. */
export const followTask = async (
  scope: TaskScope,
  taskId: string,
  tenant: string,
  act: (followed: { task: Task; events: Subscription }) => Promise<void>,
): Promise<void> => {
  const { call, tasks } = scope
  const followed = await tasks.follow(taskId, scope.reader(tenant))
  const release = closeOnAbort(call, followed.events)
  try {
    await act(followed)
  } finally {
    release()
    tasks.unfollow(taskId, followed.events)
  }
}

export const stateIn = (event: TaskEvent): TaskState | undefined =>
  event.kind === 'status' ? event.status.state : undefined

/** Ends the events when the client leaves; the answer takes that back. */
const closeOnAbort = ({ signal }: A2aCall, events: Subscription): (() => void) => {
  const close = (): void => events.close()
  signal.addEventListener('abort', close, { once: true })
  if (signal.aborted) close()
  return () => signal.removeEventListener('abort', close)
}
