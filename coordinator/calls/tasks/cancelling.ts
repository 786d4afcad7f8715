import { ShoalError } from '../../../shared/errors.ts'
import { type Runtime, stopTimer } from '../../../shared/runtime.ts'
import { LEASE_MS } from '../../kernel/leases/ownership.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import type { Followers } from './followers.ts'
import { postMail } from './mailbox.ts'
import type { Task } from './task.ts'
import type { TaskOwner } from './task-owner.ts'
import { readTask } from './task-rows.ts'
import { isFinal } from './task-state.ts'
import { ignoreElsewhere } from './turns.ts'

/**
 * Longest wait for the owner to end a task; after that the owner is presumed gone or cut off from
 * the store.
 */
const WAIT_MS = LEASE_MS + 5000

interface CancellingParts {
  ledger: Ledger
  owner: Pick<TaskOwner, 'turns' | 'deliver'>
  followers: Pick<Followers, 'add' | 'remove' | 'look'>
  now: () => number
  runtime: Pick<Runtime, 'setTimeout'>
}

/**
 * Cancels a task, whichever process owns it. Throws `conflict` for a task that has ended otherwise,
 * and `store_unavailable` when the end cannot be stored now; storing is retried until it succeeds.
 * Returns the task as it is when another process owns it and does not end it within 20 s;
 * the cancellation stays in its mailbox.
 */
export const cancelTask = async (
  parts: CancellingParts,
  taskId: string,
  tenantId: string,
  actor: string,
): Promise<Task> => {
  const { ledger, owner } = parts
  const task = await readTask(ledger.read, taskId, tenantId)
  if (isFinal(task.status.state)) return requireCancelled(task)
  try {
    await ignoreElsewhere(owner.turns.cancel(taskId, actor))
    await postCancel(parts, task, tenantId, actor)
    await owner.deliver(taskId)
  } catch (cause) {
    throw faultFor(cause, taskId)
  }
  const after = await readTask(ledger.read, taskId, tenantId)
  if (isFinal(after.status.state)) return requireCancelled(after)
  await waitForEnd(parts, task, tenantId)
  const last = await readTask(ledger.read, taskId, tenantId)
  return isFinal(last.status.state) ? requireCancelled(last) : last
}

/** Posts the cancellation, unless the task has ended. */
const postCancel = async (
  { ledger, now }: CancellingParts,
  { id: taskId }: Task,
  tenantId: string,
  actor: string,
): Promise<void> => {
  const isOver = async (db: typeof ledger.read): Promise<boolean> =>
    isFinal((await readTask(db, taskId, tenantId)).status.state)
  if (await isOver(ledger.read)) return
  await ledger.sealed.write(async trx => {
    if (await isOver(trx)) return
    await postMail(trx, { taskId, tenantId, kind: 'cancel', actor, body: undefined }, now())
  })
}

const requireCancelled = (task: Task): Task => {
  if (task.status.state === 'canceled') return task
  throw new ShoalError('conflict', `task ${task.id} has ended`)
}

/** Resolves when the task has ended in any process, or after `WAIT_MS`. */
const waitForEnd = async (
  { followers, runtime }: CancellingParts,
  task: Task,
  tenantId: string,
): Promise<void> => {
  const { events } = followers.add(task, tenantId)
  const timer = runtime.setTimeout(() => events.close(), WAIT_MS)
  try {
    await followers.look()
    while ((await events.next()) !== undefined);
  } finally {
    stopTimer(timer)
    followers.remove(task.id, events)
  }
}

const faultFor = (cause: unknown, taskId: string): ShoalError =>
  cause instanceof ShoalError
    ? cause
    : new ShoalError('store_unavailable', `the end of task ${taskId} could not be stored yet`, {
        cause,
      })
