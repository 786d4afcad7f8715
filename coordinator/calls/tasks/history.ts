import { appendAudit } from '../../kernel/audit/audit.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import type { TaskRun } from './task-run.ts'
import type { TaskState } from './task-state.ts'
import { type TaskTransition, taskTransitionTable } from './task-transition.table.ts'
import { FIRST, sealTransition, type UnsealedTransition } from './transition.ts'

/** Change of state that is not yet part of the chain of its task. */
export type TransitionFields = Omit<UnsealedTransition, 'taskId' | 'seq'>

/** Default actor of a task: its requester. */
export const requesterOf = ({ keyId }: TaskRun): string =>
  keyId === undefined ? 'anonymous' : `key:${keyId}`

/** States of a task with effects that the audit records beside the task's own history. */
const AUDITED: readonly TaskState[] = [
  'auth-required',
  'completed',
  'failed',
  'canceled',
  'rejected',
]

/**
 * Appends the next link to the chain of a task; for a task with effects, the audit records its
 * hash.
 */
export const addTransition = async (
  trx: SealedTrx,
  run: TaskRun,
  last: TaskTransition | undefined,
  change: TransitionFields,
): Promise<TaskTransition> => {
  const transition = sealTransition(
    { taskId: run.taskId, seq: (last?.seq ?? 0) + 1, ...change },
    last?.hash ?? FIRST,
  )
  await trx.insertInto('task_transitions').values(taskTransitionTable.write(transition)).execute()
  if (run.audited && AUDITED.includes(change.toState)) await auditChange(trx, run, transition)
  return transition
}

const auditChange = async (
  trx: SealedTrx,
  run: TaskRun,
  { at, actor, toState, reason, seq, hash }: TaskTransition,
): Promise<void> => {
  await appendAudit(trx, {
    actor: actor === 'coordinator' ? requesterOf(run) : actor,
    requestId: run.requestId,
    at,
    tenant: run.tenantId,
    action: `task.${toState}`,
    subject: run.taskId,
    outcome: toState === 'rejected' ? 'refused' : 'done',
    details: {
      operation: run.operationId ?? null,
      transitions: seq,
      head: hash,
      ...(reason === undefined ? {} : { reason }),
    },
  })
}
