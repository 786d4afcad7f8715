import { bumpRevision } from '../../kernel/store/revisions.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import { addTransition, requesterOf, type TransitionFields } from './history.ts'
import { dropMail } from './mailbox.ts'
import { TaskElsewhereError } from './take-task.ts'
import type { TaskChange, TaskHooks } from './task-hooks.ts'
import { addRun, personOf, saveRun, saveTask } from './task-rows.ts'
import type { TaskRun } from './task-run.ts'
import { isFinal, isSettled } from './task-state.ts'
import type { TaskTransition } from './task-transition.table.ts'
import { lastTransition } from './transition-rows.ts'

/**
 * Error for a task that differs from what its owner knows: another process has taken it or read its
 * mail.
 */
export class TaskTakenError extends TaskElsewhereError {}

/** One event, the task after it, and its row in the history if the state has changed. */
export interface TaskEntry extends TaskChange {
  change: TransitionFields | undefined
}

/** Rows that the next change of the task builds on. */
export interface StoredTail {
  last: TaskTransition | undefined
  /** Person whose key requested the task. */
  person: string | undefined
}

/** Stores a new task owned by `worker`, with the history row of its first state. */
export const storeFirst = async (
  trx: SealedTrx,
  task: TaskChange['task'],
  run: TaskRun,
  worker: string,
): Promise<StoredTail> => {
  await saveTask(trx, task, run.tenantId)
  await addRun(trx, run, worker)
  const last = await addTransition(trx, run, undefined, {
    at: run.createdAt,
    fromState: undefined,
    toState: 'submitted',
    actor: requesterOf(run),
    reason: undefined,
    gateRequestId: undefined,
  })
  return { last, person: await personOf(trx, run) }
}

/** The tail of a task that this process did not begin. */
const readTail = async (trx: SealedTrx, run: TaskRun): Promise<StoredTail> => ({
  last: await lastTransition(trx, run.taskId),
  person: await personOf(trx, run),
})

/**
 * Stores events of a task. A settled state ends the ownership, and a final one also deletes the
 * mail. Throws `TaskTakenError` when `worker` no longer owns the task.
 */
export const storeBatch = async (
  trx: SealedTrx,
  batch: readonly TaskEntry[],
  {
    run,
    worker,
    hooks,
    tail,
  }: { run: TaskRun; worker: string; hooks: TaskHooks | undefined; tail: StoredTail },
): Promise<StoredTail> => {
  let { last, person } = tail.last === undefined ? await readTail(trx, run) : tail
  const task = batch.at(-1)?.task as TaskChange['task']
  const state = task.status.state
  if (!(await saveRun(trx, run, { worker, lets: isSettled(state) })))
    throw new TaskTakenError(run.taskId)
  await saveTask(trx, task, run.tenantId)
  for (const { change } of batch)
    if (change !== undefined) last = await addTransition(trx, run, last, change)
  if (isFinal(state)) await dropMail(trx, run.taskId)
  await hooks?.put(trx, batch, run)
  await bumpRevision(trx, 'tasks')
  return { last, person }
}
