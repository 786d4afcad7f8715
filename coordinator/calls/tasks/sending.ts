import { ShoalError } from '../../../shared/errors.ts'
import type { Ledger, SealedTrx } from '../../kernel/store/store.ts'
import { claimMessage } from './claim.ts'
import { hasSameStatus } from './delivery.ts'
import { postMail, readMail } from './mailbox.ts'
import type { Message, Task } from './task.ts'
import type { RequestedRun } from './task-mail.table.ts'
import type { StartedTask, TaskOwner } from './task-owner.ts'
import { readTask } from './task-rows.ts'
import type { Opening } from './turn.ts'

/** Message to a task that waits for input. */
export interface SentMessage {
  message: Message
  /** Actor in the form `key:…`. */
  actor: string
  /** Call that the message requests of the task. */
  run: RequestedRun
  /** Opening of its turn, as this process derived it from the call. */
  opening: Opening
}

interface SendingParts {
  ledger: Ledger
  owner: TaskOwner
  now: () => number
}

/**
 * Posts a message to a task as the caller has seen it. Throws `conflict` when the status of the
 * task has changed or mail is already waiting, and `rate_limited`.
 */
export const sendTaskMessage = async (
  { ledger, owner, now }: SendingParts,
  seen: Task,
  tenantId: string,
  { message, actor, run, opening }: SentMessage,
): Promise<StartedTask> => {
  owner.turns.requireRoom(tenantId)
  const taskId = seen.id
  const before = await ledger.sealed.write(async trx => {
    const taken = run.keyId && (await claimMessage(trx, run.keyId, message, taskId))
    if (taken) return taken
    await requireWaiting(trx, seen, tenantId)
    const mail = { taskId, tenantId, kind: 'message', actor, body: { message, run } } as const
    await postMail(trx, mail, now())
    return undefined
  })
  if (before !== undefined) return owner.resumeAccepted(before)
  const known = { messageId: message.messageId, opening }
  return { taskId, again: false, start: () => owner.tryToDeliver(taskId, known) }
}

const requireWaiting = async (trx: SealedTrx, seen: Task, tenantId: string): Promise<void> => {
  const task = await readTask(trx, seen.id, tenantId)
  const mail = await readMail(trx, seen.id)
  const isAlone = mail.every(({ kind }) => kind !== 'message' && kind !== 'cancel')
  const isWaiting = task.status.state === 'input-required'
  if (!isWaiting || !isAlone || !hasSameStatus(task, seen))
    throw new ShoalError('conflict', `task ${seen.id} accepts no message while it is running`)
}
