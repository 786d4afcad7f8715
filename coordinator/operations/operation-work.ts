import { errorBody, ShoalError } from '../../shared/errors.ts'
import { artifactOf, dataPart, textPart } from '../tasks/parts.ts'
import { TaskState } from '../tasks/task-state.ts'
import type { Turn, Work } from '../tasks/turn.ts'
import { callOperation } from './call.ts'
import type { Progress, TaskCaller, Views } from './context.ts'
import { gateWait } from './gate-wait.ts'
import { missingInput } from './missing-input.ts'
import type { Operation } from './operation.ts'
import { Pending } from './pending.ts'
import { contextFor } from './task-context.ts'

export interface Ask {
  operation: Operation
  input: object
  caller: TaskCaller
  cellId?: string | undefined
}

const DEFAULT_SECONDS = { sync: 30, stream: 300, task: 3600 }

/** One call of an operation as a turn of a task: its end, its question or its gate is the state. */
export const operationWork =
  (views: Views, { operation, input, caller, cellId }: Ask): Work =>
  async turn => {
    const audited = operation.effect !== 'read'
    turn.status(TaskState.TASK_STATE_WORKING, {
      run: { operationId: operation.id, input, cellId, audited },
    })
    const { timeoutSeconds = DEFAULT_SECONDS[operation.mode ?? 'sync'] } = operation
    const timeout = AbortSignal.timeout(timeoutSeconds * 1000)
    const signal = AbortSignal.any([turn.signal, timeout])
    const progress = (told: Progress): void => {
      if (!signal.aborted)
        turn.status(TaskState.TASK_STATE_WORKING, { parts: [dataPart({ progress: told })] })
    }
    const context = contextFor(views, caller, { signal, progress, cellId })
    let answer: unknown
    try {
      answer = await orAborted(callOperation(operation, input, context), signal)
    } catch (thrown) {
      if (turn.signal.aborted) return
      refuse(turn, operation, input, timeout.aborted ? late(operation, timeoutSeconds) : thrown)
      return
    }
    const waits = waitsFor(operation, answer)
    if (waits === undefined) complete(turn, operation, answer)
    else await wait(turn, views, waits, caller)
  }

const late = ({ id }: Operation, seconds: number): ShoalError =>
  new ShoalError('request_timeout', `${id} did not answer within ${seconds} s`)

/** Rejects when the signal aborts, also where the operation does not look at it. */
const orAborted = <T>(answer: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    answer.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })

const waitsFor = (operation: Operation, answer: unknown): string | undefined =>
  answer instanceof Pending
    ? answer.view.request_id
    : operation.waitsFor?.(answer as never) || undefined

const complete = (turn: Turn, operation: Operation, output: unknown): void => {
  // one artifact for each result: a task that went on has more than one
  turn.artifact(artifactOf('result', [dataPart(output)], { skill: operation.id }))
  turn.status(TaskState.TASK_STATE_COMPLETED)
}

const wait = async (
  turn: Turn,
  views: Views,
  requestId: string,
  { tenantId = '' }: TaskCaller,
): Promise<void> => {
  const gate = gateWait(await views.gates.get(requestId, { tenantId }), views)
  turn.status(TaskState.TASK_STATE_AUTH_REQUIRED, {
    reason: `waits at ${gate.gate_id}`,
    run: { waits: 'gate', gateRequestId: requestId },
    parts: [textPart(`people decide at ${gate.gate_id}: ${gate.summary}`), dataPart({ gate })],
  })
}

/** What is missing is asked for; a policy's no is an end of its own; everything else has failed. */
const refuse = (turn: Turn, operation: Operation, input: object, thrown: unknown): void => {
  if (!(thrown instanceof ShoalError)) throw thrown
  const missing = missingInput(operation, input, thrown)
  if (missing !== undefined) {
    askFor(turn, operation, missing)
    return
  }
  const denied = thrown.code === 'forbidden'
  turn.status(denied ? TaskState.TASK_STATE_REJECTED : TaskState.TASK_STATE_FAILED, {
    reason: thrown.code,
    parts: [textPart(thrown.message), dataPart(errorBody(thrown))],
  })
}

/** The task stops until a message brings what is missing. */
export const askFor = (
  turn: Turn,
  operation: Operation,
  missing: { names: string[]; schema: object },
): void =>
  turn.status(TaskState.TASK_STATE_INPUT_REQUIRED, {
    reason: `missing: ${missing.names.join(', ')}`,
    run: { waits: 'input' },
    parts: [
      textPart(`${operation.id} needs ${missing.names.join(', ')}`),
      dataPart({
        input_required: { skill: operation.id, missing: missing.names, schema: missing.schema },
      }),
    ],
  })
