import { appendAudit } from '../../kernel/audit/audit.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import type { TaskRun } from './task-run.ts'
import type { TaskTransitionRow } from './task-transition.table.ts'
import { FIRST, sealRow, type UnsealedTransition } from './transition.ts'

/** Change of state that is not yet part of the chain of its task. */
export type TransitionFields = Omit<UnsealedTransition, 'task_id' | 'seq'>

/** Default actor of a task: its requester. */
export const requesterOf = ({ keyId }: TaskRun): string =>
  keyId === undefined ? 'anonymous' : `key:${keyId}`

/** States of a task with effects that the audit records beside the task's own history. */
const AUDITED = ['auth-required', 'completed', 'failed', 'canceled', 'rejected']

/**
 * Appends the next link to the chain of a task; for a task with effects, the audit records its
 * hash.
 */
export const addTransition = async (
  trx: SealedTrx,
  run: TaskRun,
  last: TaskTransitionRow | undefined,
  change: TransitionFields,
): Promise<TaskTransitionRow> => {
  const row = sealRow(
    { task_id: run.taskId, seq: (last?.seq ?? 0) + 1, ...change },
    last?.hash ?? FIRST,
  )
  await trx.insertInto('task_transitions').values(row).execute()
  if (run.audited && AUDITED.includes(change.to_state)) await auditChange(trx, run, row)
  return row
}

const auditChange = async (
  trx: SealedTrx,
  run: TaskRun,
  { at, actor, to_state, reason, seq, hash }: TaskTransitionRow,
): Promise<void> => {
  await appendAudit(trx, {
    actor: actor === 'coordinator' ? requesterOf(run) : actor,
    requestId: run.requestId,
    at,
    tenant: run.tenantId,
    action: `task.${to_state}`,
    subject: run.taskId,
    outcome: to_state === 'rejected' ? 'refused' : 'done',
    details: {
      operation: run.operationId ?? null,
      transitions: seq,
      head: hash,
      ...(reason === null ? {} : { reason }),
    },
  })
}
