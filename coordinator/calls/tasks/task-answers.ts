import { stateAt } from '../../access/gates/request.ts'
import { actsFor } from '../../access/keys/key.ts'
import type { Operation } from '../../kernel/declaration/operation.ts'
import { listHiddenFields } from '../../kernel/declaration/secret-fields.ts'
import type { PipelineViews } from '../invoke/call-context.ts'
import { describeGateRefusal } from '../invoke/gate-wait.ts'
import type { Answerer, Delivery } from './delivery.ts'
import type { OperationRequest } from './operation-work.ts'
import { dataPart, textPart } from './parts.ts'
import type { TaskRun } from './task-run.ts'
import type { TaskState } from './task-state.ts'
import type { Opening } from './turn.ts'

interface TaskAnswerParts {
  views: () => PipelineViews
  operations: readonly Operation[]
  /** The turn of a call; throws for one that is refused. */
  open: (ask: OperationRequest) => Opening
}

/** The turns that mail begins: the same call again, by the same key as it is now, or an end. */
export const taskAnswers = ({ views, operations, open }: TaskAnswerParts): Answerer => {
  const byId = new Map(operations.map(operation => [operation.id, operation]))

  const callAgain = async (run: TaskRun): Promise<Opening> => {
    const operation = byId.get(run.operationId ?? '')
    if (operation === undefined) return endWith('operation_gone', 'the operation no longer exists')
    const key = run.keyId === undefined ? undefined : await views().keys.asNow(run.keyId)
    if (run.keyId !== undefined && (key === undefined || !actsFor(key, run.tenantId)))
      return endWith('forbidden', 'the key of the task is no longer valid')
    const gone = listHiddenFields(operation, run.input)
    if (gone.length > 0) return endWithoutSecrets(gone)
    const { tenantId, requestId, cellId, input } = run
    return open({ operation, input: input as object, caller: { key, tenantId, requestId }, cellId })
  }

  const answerDecision = async (run: TaskRun): Promise<Opening | undefined> => {
    const { tenantId, gateRequestId = '' } = run
    const request = await views().gates.get(gateRequestId, { tenantId })
    const state = stateAt(request, views().now())
    if (state === 'pending') return undefined
    return state === 'approved'
      ? callAgain(run)
      : endWith(`gate_${state}`, describeGateRefusal(request, state))
  }

  /**
   * Answers a message to a task. Without an operation, a message that names none leads to the same
   * question again.
   */
  const answerMessage = async ({ run, task, mail }: Delivery): Promise<Opening> => {
    const asked = { ...run, ...mail.body?.run }
    return asked.operationId === undefined
      ? repeatQuestion(task.status.message?.parts)
      : callAgain(asked)
  }

  const answerResume = async (run: TaskRun): Promise<Opening> =>
    byId.get(run.operationId ?? '')?.resumable === true ? callAgain(run) : CUT_OFF

  return async delivery => {
    const { mail, run } = delivery
    if (mail.kind === 'message') return answerMessage(delivery)
    return mail.kind === 'decision' ? answerDecision(run) : answerResume(run)
  }
}

const repeatQuestion = (parts: NonNullable<Opening['more']>['parts'] = []): Opening => ({
  state: 'input-required',
  more: { parts, reason: 'not certain which skill is meant', run: { waits: 'input' } },
})

/** A turn that only ends the task. */
const endWith = (reason: string, text: string, state: TaskState = 'rejected'): Opening => ({
  state,
  more: {
    reason,
    parts: [textPart(text), dataPart({ error: { code: reason, message: text } })],
  },
})

const endWithoutSecrets = (names: readonly string[]): Opening =>
  endWith(
    'secret_gone',
    `the call cannot be made again, because ${names.join(', ')} is secret and was not stored; send the request again`,
    'failed',
  )

const CUT_OFF = endWith(
  'coordinator_restarted',
  'the coordinator was restarted while the task was at work',
  'failed',
)
