import type { SealedTrx } from '../../kernel/store/store.ts'
import type { ClaimTask } from './live.ts'
import { TaskTakenError } from './live-store.ts'
import { dropOne, type Mail, readMail } from './mailbox.ts'
import { type Owning, takeTask } from './take-task.ts'
import type { Task } from './task.ts'
import { readTask } from './task-rows.ts'
import type { TaskRun } from './task-run.ts'
import { isFinal, type TaskState } from './task-state.ts'
import type { Opening } from './turn.ts'
import { cancellationBy } from './turns.ts'

/** Mail for a task without a turn in progress, with the task as stored. */
export interface Delivery {
  mail: Mail
  task: Task
  run: TaskRun
}

/**
 * Derives the turn that mail starts from the current state of the store; undefined when the mail is
 * obsolete. The owner handles cancellations itself.
 */
export type Answerer = (delivery: Delivery) => Promise<Opening | undefined>

/** Derives the opening of the turn; undefined when the mail does not apply in the task's state. */
export const deriveOpening = async (
  delivery: Delivery,
  answer: Answerer,
): Promise<Opening | undefined> => {
  const { mail, task } = delivery
  const state = task.status.state
  if (isFinal(state)) return undefined
  if (mail.kind === 'cancel') return { state: 'canceled', more: cancellationBy(mail.actor) }
  return COUNTS_IN[mail.kind].includes(state) ? answer(delivery) : undefined
}

/** Task states in which each kind of mail starts a turn. */
const COUNTS_IN: Record<Exclude<Mail['kind'], 'cancel'>, TaskState[]> = {
  message: ['input-required'],
  decision: ['auth-required'],
  resume: ['submitted', 'working'],
}

/**
 * Takes the task and removes the mail. Throws `TaskTakenError` when either has changed since it was
 * read.
 */
export const claimFor =
  ({ mail, task, run }: Delivery, owning: Owning): ClaimTask =>
  async trx => {
    await takeTask(trx, task.id, owning)
    await requireSame(trx, task, run.tenantId)
    const [first] = await readMail(trx, task.id)
    if (first?.kind !== mail.kind) throw new TaskTakenError(task.id)
    await dropOne(trx, mail)
  }

/** Throws `TaskTakenError` when the status of the task has changed. */
export const requireSame = async (trx: SealedTrx, task: Task, tenantId: string): Promise<void> => {
  const now = await readTask(trx, task.id, tenantId)
  if (!hasSameStatus(now, task)) throw new TaskTakenError(task.id)
}

export const hasSameStatus = (one: Task, other: Task): boolean =>
  statusKey(one) === statusKey(other)

/** Key that identifies a status; two statuses of the same millisecond differ in their messages. */
const statusKey = ({ status }: Task): string =>
  `${status.state} ${status.timestamp} ${status.message?.messageId}`
