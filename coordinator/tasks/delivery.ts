import type { Task } from '@a2a-js/sdk'
import type { SealedTrx } from '../store/store.ts'
import type { Lease } from './lease.ts'
import type { Claim } from './live.ts'
import { TaskTaken } from './live-store.ts'
import { dropOne, type Mail, readMail } from './mailbox.ts'
import { readTask } from './task-rows.ts'
import type { TaskRun } from './task-run.ts'
import { isFinal, TaskState } from './task-state.ts'
import type { Opening } from './turn.ts'
import { cancellationBy } from './turns.ts'

/** Mail to a task that no turn runs of, and the task as it is. */
export interface Delivery {
  mail: Mail
  task: Task
  run: TaskRun
}

/**
 * The turn that mail begins, by what the store says now; undefined when the mail asks for nothing
 * any more. A cancellation is answered by the owner itself.
 */
export type Answerer = (delivery: Delivery) => Promise<Opening | undefined>

/** The opening of the turn, where the task is in a state in which this mail counts. */
export const deriveOpening = async (
  delivery: Delivery,
  answer: Answerer,
): Promise<Opening | undefined> => {
  const { mail, task } = delivery
  const state = task.status?.state
  if (isFinal(state)) return undefined
  if (mail.kind === 'cancel')
    return { state: TaskState.TASK_STATE_CANCELED, more: cancellationBy(mail.actor) }
  return COUNTS_IN[mail.kind].includes(state) ? answer(delivery) : undefined
}

/** States in which mail of a kind begins a turn. */
const COUNTS_IN: Record<Exclude<Mail['kind'], 'cancel'>, (TaskState | undefined)[]> = {
  message: [TaskState.TASK_STATE_INPUT_REQUIRED],
  decision: [TaskState.TASK_STATE_AUTH_REQUIRED],
  resume: [TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING],
}

/** Takes the task and the mail from the store, if both are still as they were read. */
export const claimFor =
  ({ mail, task, run }: Delivery, lease: Lease): Claim =>
  async trx => {
    await lease.take(trx, task.id)
    await requireSame(trx, task, run.tenantId)
    const [first] = await readMail(trx, task.id)
    if (first?.kind !== mail.kind) throw new TaskTaken(task.id)
    await dropOne(trx, mail)
  }

/** Throws `TaskTaken` when the task has another status now. */
export const requireSame = async (trx: SealedTrx, task: Task, tenantId: string): Promise<void> => {
  const now = await readTask(trx, task.id, tenantId)
  if (!hasSameStatus(now, task)) throw new TaskTaken(task.id)
}

export const hasSameStatus = (one: Task, other: Task): boolean =>
  statusKey(one) === statusKey(other)

/** Two statuses of one millisecond differ in their messages. */
const statusKey = ({ status }: Task): string =>
  `${status?.state} ${status?.timestamp} ${status?.message?.messageId}`
