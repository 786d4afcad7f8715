import { errorBody, ShoalError } from '../../../shared/errors.ts'
import { judgeAnswer } from '../../../shared/success-rule.ts'
import type { Progress, TaskCaller } from '../../kernel/declaration/context.ts'
import { isAudited } from '../../kernel/declaration/declaration.ts'
import { findMissingInput } from '../../kernel/declaration/missing-input.ts'
import type { Operation } from '../../kernel/declaration/operation.ts'
import { PendingResult } from '../../kernel/declaration/pending-result.ts'
import { hideSecretFields } from '../../kernel/declaration/secret-fields.ts'
import type { PipelineViews } from '../invoke/call-context.ts'
import { gateWait } from '../invoke/gate-wait.ts'
import type { Pipeline } from '../invoke/invoke.ts'
import { artifactOf, dataPart, textPart } from './parts.ts'
import type { Opening, Turn } from './turn.ts'

export interface OperationRequest {
  operation: Operation
  input: object
  caller: TaskCaller
  cellId?: string | undefined
}

/** Facts of a call that its task keeps, so that it can be made again; its secrets are not kept. */
export const runFactsOf = ({ operation, input, cellId }: OperationRequest) => ({
  operationId: operation.id,
  input: hideSecretFields(operation, input),
  cellId,
  audited: isAudited(operation),
})

/** One call of an operation as a turn of a task: its end, its question or its gate is the state. */
export const createOpening = (
  views: PipelineViews,
  perform: Pipeline['perform'],
  ask: OperationRequest,
): Opening => ({
  state: 'working',
  more: { run: runFactsOf(ask) },
  work: async turn => {
    const { operation, input, caller } = ask
    const progress = (progress: Progress): void => {
      if (!turn.signal.aborted) turn.status('working', { parts: [dataPart({ progress })] })
    }
    let answer: unknown
    try {
      answer = await perform({ ...ask, listener: { progress } }, turn.signal)
    } catch (thrown) {
      if (!turn.signal.aborted) refuse(turn, operation, input, thrown)
      return
    }
    const waits = waitsFor(operation, answer)
    if (waits === undefined) complete(turn, operation, answer)
    else await wait(turn, views, waits, caller)
  },
})

const waitsFor = (operation: Operation, answer: unknown): string | undefined =>
  answer instanceof PendingResult
    ? answer.view.request_id
    : operation.waitsFor?.(answer as never) || undefined

const complete = (turn: Turn, operation: Operation, output: unknown): void => {
  // one artifact for each result: a resumed task has more than one
  turn.artifact(artifactOf('result', [dataPart(output)], { skill: operation.id }))
  const { kind, value } = judgeAnswer(output, operation.success)
  if (kind !== 'failed' && kind !== 'unknown') turn.status('completed')
  else turn.status('failed', { reason: `${operation.id} is ${value}` })
}

const wait = async (
  turn: Turn,
  views: PipelineViews,
  requestId: string,
  { tenantId = '' }: TaskCaller,
): Promise<void> => {
  const gate = gateWait(await views.gates.get(requestId, { tenantId }), views)
  turn.status('auth-required', {
    reason: `waits at ${gate.gate_id}`,
    run: { waits: 'gate', gateRequestId: requestId },
    parts: [textPart(`people decide at ${gate.gate_id}: ${gate.summary}`), dataPart({ gate })],
  })
}

/**
 * Ends a turn that threw a `ShoalError`: missing input becomes a question, `forbidden` rejects the
 * task, other codes fail it.
 */
const refuse = (turn: Turn, operation: Operation, input: object, thrown: unknown): void => {
  if (!(thrown instanceof ShoalError)) throw thrown
  const missing = findMissingInput(operation, input, thrown)
  if (missing !== undefined) {
    const { state, more } = questionFor(operation, missing)
    turn.status(state, more)
    return
  }
  const denied = thrown.code === 'forbidden'
  turn.status(denied ? 'rejected' : 'failed', {
    reason: thrown.code,
    parts: [textPart(thrown.message), dataPart(errorBody(thrown))],
  })
}

/** Stops the task until a message provides the missing input. */
export const questionFor = (
  operation: Pick<Operation, 'id'>,
  missing: { names: string[]; schema: object },
): Opening => ({
  state: 'input-required',
  more: {
    reason: `missing: ${missing.names.join(', ')}`,
    run: { waits: 'input' },
    parts: [
      textPart(`${operation.id} needs ${missing.names.join(', ')}`),
      dataPart({
        input_required: { skill: operation.id, missing: missing.names, schema: missing.schema },
      }),
    ],
  },
})
