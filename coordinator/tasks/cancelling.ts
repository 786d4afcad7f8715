import type { Task } from '@a2a-js/sdk'
import type { Logger } from 'pino'
import { ShoalError } from '../../shared/errors.ts'
import type { Ledger } from '../store/store.ts'
import type { TaskCancelRow } from '../store/task-tables.ts'
import { askToCancel, dropCancel, readCancels } from './cancels.ts'
import type { Followers } from './followers.ts'
import { LEASE_MS, TaskElsewhere } from './lease.ts'
import { readTask } from './task-rows.ts'
import { isFinal, TaskState } from './task-state.ts'
import type { Turns } from './turns.ts'

/** A process that does not end a task within it is gone, or cannot reach the store. */
const WAIT_MS = LEASE_MS + 5000
/** Turns that may take a task from under its cancellation. */
const ATTEMPTS = 10

export interface CancellingParts {
  ledger: Ledger
  turns: Pick<Turns, 'cancel'>
  followers: Pick<Followers, 'add' | 'remove' | 'look'>
  logger: Pick<Logger, 'warn'>
}

/** How tasks are cancelled, whichever process runs them. */
export interface Cancelling {
  /**
   * Ends it as cancelled; throws `conflict` for one that has another end. Where another process runs
   * it and does not end it within 20 s, the answer is the task as it is: it ends when it is heard.
   */
  cancel(taskId: string, tenantId: string, actor: string): Promise<Task>
  /** Does what other processes have asked for, where a task is not run by another one. */
  heed(): Promise<void>
}

export const createCancelling = (parts: CancellingParts): Cancelling => {
  const { ledger, turns, followers, logger } = parts

  /** One that another turn has just taken is cancelled in that turn. */
  const cancelHere = async (
    taskId: string,
    tenantId: string,
    actor: string,
    attempts = ATTEMPTS,
  ): Promise<Task> => {
    try {
      return await turns.cancel(taskId, tenantId, actor)
    } catch (error) {
      if (error instanceof TaskElsewhere || !isConflict(error) || attempts === 1) throw error
      const task = await readTask(ledger.read, taskId, tenantId)
      if (task.status?.state === TaskState.TASK_STATE_CANCELED) return task
      if (isFinal(task.status?.state)) throw error
      return cancelHere(taskId, tenantId, actor, attempts - 1)
    }
  }

  const cancel: Cancelling['cancel'] = async (taskId, tenantId, actor) => {
    const task = await readTask(ledger.read, taskId, tenantId)
    if (task.status?.state === TaskState.TASK_STATE_CANCELED) return task
    try {
      return await cancelHere(taskId, tenantId, actor)
    } catch (error) {
      if (!(error instanceof TaskElsewhere)) throw error
    }
    await ledger.free.write(trx =>
      askToCancel(trx, { task_id: taskId, tenant_id: tenantId, actor }),
    )
    await ended(task, tenantId)
    const after = await readTask(ledger.read, taskId, tenantId)
    const state = after.status?.state
    if (isFinal(state) && state !== TaskState.TASK_STATE_CANCELED)
      throw new ShoalError('conflict', `task ${taskId} has come to its end`)
    return after
  }

  const ended = async (task: Task, tenantId: string): Promise<void> => {
    const { events } = followers.add(task, tenantId)
    const timer = setTimeout(() => events.close(), WAIT_MS)
    try {
      await followers.look()
      while ((await events.next()) !== undefined);
    } finally {
      clearTimeout(timer)
      followers.remove(task.id, events)
    }
  }

  const heedOne = async (row: TaskCancelRow): Promise<void> => {
    try {
      await turns.cancel(row.task_id, row.tenant_id, row.actor)
    } catch (error) {
      if (error instanceof TaskElsewhere || !(error instanceof ShoalError)) return
      const isOver = await overOrGone(row)
      if (!isOver) return
    }
    await ledger.free.write(trx => dropCancel(trx, row))
  }

  const overOrGone = async ({ task_id, tenant_id }: TaskCancelRow): Promise<boolean> => {
    try {
      return isFinal((await readTask(ledger.read, task_id, tenant_id)).status?.state)
    } catch (error) {
      return error instanceof ShoalError && error.code === 'not_found'
    }
  }

  const heedAll = async (): Promise<void> => {
    try {
      for (const row of await readCancels(ledger.read)) await heedOne(row)
    } catch (error) {
      logger.warn({ err: error }, 'it was not seen which tasks to cancel')
    }
  }
  let underWay: Promise<void> | undefined
  /** Who asks while it is under way waits for its end: nothing that was cancelled must begin again. */
  const heed = (): Promise<void> => {
    underWay ??= heedAll().finally(() => {
      underWay = undefined
    })
    return underWay
  }

  return { cancel, heed }
}

const isConflict = (error: unknown): boolean =>
  error instanceof ShoalError && error.code === 'conflict'
