import { stateAt } from '../gates/request.ts'
import { actsFor } from '../keys/key.ts'
import type { Answerer, Delivery } from '../tasks/delivery.ts'
import { dataPart, textPart } from '../tasks/parts.ts'
import type { TaskRun } from '../tasks/task-run.ts'
import { TaskState } from '../tasks/task-state.ts'
import type { Opening } from '../tasks/turn.ts'
import type { Views } from './context.ts'
import { refusalOf } from './gate-wait.ts'
import type { Operation } from './operation.ts'
import type { Ask } from './operation-work.ts'

export interface TaskAnswerParts {
  views: () => Views
  operations: readonly Operation[]
  /** The turn of a call; throws for one that is refused. */
  open: (ask: Ask) => Opening
}

/** The turns that mail begins: the same call again, by the same key as it is now, or an end. */
export const taskAnswers = ({ views, operations, open }: TaskAnswerParts): Answerer => {
  const byId = new Map(operations.map(operation => [operation.id, operation]))

  const again = async (run: TaskRun): Promise<Opening> => {
    const operation = byId.get(run.operationId ?? '')
    if (operation === undefined) return ending('operation_gone', 'the operation no longer exists')
    const key = run.keyId === undefined ? undefined : await views().keys.asNow(run.keyId)
    if (run.keyId !== undefined && (key === undefined || !actsFor(key, run.tenantId)))
      return ending('forbidden', 'the key of the task is no longer valid')
    const { tenantId, requestId, cellId, input } = run
    return open({ operation, input: input as object, caller: { key, tenantId, requestId }, cellId })
  }

  const atGate = async (run: TaskRun): Promise<Opening | undefined> => {
    const { tenantId, gateRequestId = '' } = run
    const request = await views().gates.get(gateRequestId, { tenantId })
    const state = stateAt(request, views().now())
    if (state === 'pending') return undefined
    return state === 'approved' ? again(run) : ending(`gate_${state}`, refusalOf(request, state))
  }

  /** Without its owner, a message that named no operation leads to the same question again. */
  const afterMessage = async ({ run, task, mail }: Delivery): Promise<Opening> => {
    const asked = { ...run, ...mail.sent?.run }
    return asked.operationId === undefined
      ? questionAgain(task.status?.message?.parts)
      : again(asked)
  }

  const afterRestart = async (run: TaskRun): Promise<Opening> =>
    byId.get(run.operationId ?? '')?.resumable === true ? again(run) : CUT_OFF

  return async delivery => {
    const { mail, run } = delivery
    if (mail.kind === 'message') return afterMessage(delivery)
    return mail.kind === 'decision' ? atGate(run) : afterRestart(run)
  }
}

const questionAgain = (parts: NonNullable<Opening['more']>['parts'] = []): Opening => ({
  state: TaskState.TASK_STATE_INPUT_REQUIRED,
  more: { parts, reason: 'not certain which skill is meant', run: { waits: 'input' } },
})

/** A turn that only ends the task. */
const ending = (
  reason: string,
  text: string,
  state: TaskState = TaskState.TASK_STATE_REJECTED,
): Opening => ({
  state,
  more: {
    reason,
    parts: [textPart(text), dataPart({ error: { code: reason, message: text } })],
  },
})

const CUT_OFF = ending(
  'coordinator_restarted',
  'the coordinator was restarted while the task was at work',
  TaskState.TASK_STATE_FAILED,
)
