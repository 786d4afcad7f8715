import type * as z from 'zod'
import { httpStatus, ShoalError } from '../../../../shared/errors.ts'
import {
  judgeAnswer,
  type SuccessRule,
  type Verdict,
  valueAt,
} from '../../../../shared/success-rule.ts'
import { callerOf } from '../../../access/gates/operations/gate-view.ts'
import { stateAt } from '../../../access/gates/request.ts'
import { actsFor } from '../../../access/keys/key.ts'
import type { Idempotency } from '../../../calls/idempotency/idempotency.ts'
import type { CallKeeping } from '../../../calls/idempotency/look-at-call.ts'
import { actorOf, type PipelineViews } from '../../../calls/invoke/call-context.ts'
import { describeGateRefusal } from '../../../calls/invoke/gate-wait.ts'
import type { Pipeline } from '../../../calls/invoke/invoke.ts'
import { isMutation } from '../../../calls/invoke/repeat.ts'
import type { TaskViews } from '../../../calls/tasks/task-views.ts'
import type { TaskCaller } from '../../../kernel/declaration/context.ts'
import type { Operation } from '../../../kernel/declaration/operation.ts'
import type { FlowRun, StepCall } from '../run.ts'
import type { StepCaller, StepRequest, StepResult } from '../step-caller.ts'
import { findTaskEnd } from './find-task-end.ts'

interface CallerParts {
  views: () => PipelineViews & TaskViews
  pipeline: Pick<Pipeline, 'invoke'>
  skills: readonly Operation[]
  /** Every operation: what a skill has begun is looked up by them. */
  callable: readonly Operation[]
  idempotency: Pick<Idempotency, 'look'>
}

/** Temporary refusals: the call was not made, and is retried. */
const TEMPORARY: readonly string[] = ['rate_limited', 'draining', 'store_unavailable']
const KEY_INVALID = 'forbidden: the key of the run is no longer valid'
/** Answers to idempotency keys are kept for 24 hours. */
const CERTAIN_MS = 23 * 3600 * 1000

/** Makes the calls of runs as their starters would, each with an idempotency key. */
export const createStepCaller = (parts: CallerParts): StepCaller => {
  const { views, pipeline, idempotency } = parts
  const skills = new Map(parts.skills.map(skill => [skill.id, skill]))
  const callable = new Map(parts.callable.map(operation => [operation.id, operation]))

  /** The starter of a run as a caller; undefined once its key is no longer valid. */
  const findCaller = async ({ keyId, tenantId, requestId }: FlowRun) => {
    const key = await views().keys.asNow(keyId)
    return key !== undefined && actsFor(key, tenantId) ? { key, tenantId, requestId } : undefined
  }

  /** The starter of a run by its key as it is stored, valid or not: to end what it has begun. */
  const findStarter = async ({ keyId, tenantId, requestId }: FlowRun): Promise<TaskCaller> => ({
    key: await views().keys.get(keyId, 'all'),
    tenantId,
    requestId,
  })

  const call: StepCaller['call'] = async (asked, signal) => {
    const { action, run, interrupted } = asked
    const operation = skills.get(action.skill ?? '')
    const callKey = callKeyOf(asked, operation)
    const request = { ...asked, callKey }
    const named = { scope: run.keyId, callKey }
    const isRepeated = interrupted !== undefined && operation !== undefined && isMutation(operation)
    if (isRepeated && views().now() - interrupted.startedAt > CERTAIN_MS)
      return createUnknown(`${operation.id} was interrupted over 23 hours ago`)
    const keeping = isRepeated ? await idempotency.look(named) : 'none'
    // before the key is checked: the call may have had its effect while the key was valid
    const doubt = isRepeated ? findDoubt(operation, keeping) : undefined
    if (doubt !== undefined) return doubt
    const caller = await findCaller(run)
    if (caller === undefined)
      return keeping === 'answered' ? createUnknown(KEY_INVALID) : createFailure(KEY_INVALID)
    if (action.gate !== undefined) return passGate(request, action.gate, caller)
    if (operation === undefined) return createFailure(`no skill ${action.skill}`)
    try {
      return await invoke(operation, request, caller, signal)
    } catch (error) {
      if (!isMutation(operation)) throw error
      return resultOf(operation, error, await idempotency.look(named))
    }
  }

  const invoke = async (
    operation: Operation,
    { input, callKey }: StepRequest,
    caller: TaskCaller,
    signal: AbortSignal,
  ): Promise<StepResult> => {
    const outcome = await pipeline.invoke({
      operation,
      caller,
      read: () => ({ input }),
      repeat: { callKey, param: 'Idempotency-Key' },
      signals: [signal],
    })
    if (outcome.kind === 'task')
      return { kind: 'waiting', reason: 'waiting for a task', taskId: outcome.taskId }
    if (outcome.kind === 'done') {
      const gateRequestId = operation.waitsFor?.(outcome.output as never)
      return gateRequestId === undefined
        ? judge(operation, outcome.output, caller, signal)
        : { kind: 'waiting', reason: `waiting for request ${gateRequestId}`, gateRequestId }
    }
    const { request_id, gate_id } = outcome.pending.view
    return { kind: 'waiting', reason: `waiting at ${gate_id}`, gateRequestId: request_id }
  }

  /** Result of a call by what its answer says, or by what is seen later of what it has begun. */
  const judge = async (
    operation: Operation,
    output: unknown,
    caller: TaskCaller,
    signal: AbortSignal,
  ): Promise<StepResult> => {
    const { id, success } = operation
    const verdict = judgeAnswer(output, success)
    if (verdict.kind !== 'open' || success?.later === undefined)
      return resultOfVerdict(id, verdict, output)
    try {
      const seen = await lookLater(success.later, output, caller, signal)
      const found = judgeAnswer(seen, success, success.later.field)
      if (found.kind === 'open') return { kind: 'later', reason: `${id} is ${found.value}` }
      return resultOfVerdict(id, found, mergeAt(output, success.field, seen))
    } catch (error) {
      // the command may have acted, whatever hides its outcome
      return isTemporary(error)
        ? { kind: 'later', reason: messageOf(error) }
        : createUnknown(`the outcome of ${id} cannot be seen: ${messageOf(error)}`)
    }
  }

  /** Reads what a call has begun, with the rights of its caller. */
  const lookLater = async (
    later: NonNullable<SuccessRule['later']>,
    output: unknown,
    caller: TaskCaller,
    signal: AbortSignal,
  ): Promise<unknown> => {
    const operation = callable.get(later.operation)
    if (operation === undefined) throw new TypeError(`no operation ${later.operation}`)
    const paths = Object.entries(later.input)
    const input = Object.fromEntries(paths.map(([name, path]) => [name, valueAt(output, path)]))
    const read = () => ({ input })
    const call = { operation, caller, read, isCounted: true, signals: [signal] }
    const outcome = await pipeline.invoke(call)
    return outcome.kind === 'done' ? outcome.output : undefined
  }

  const passGate = async (
    { run, stepId, action, gateRequestId, input }: StepRequest,
    gateId: string,
    caller: TaskCaller,
  ): Promise<StepResult> => {
    const { gates, now } = views()
    const requester = callerOf({ ...caller, actor: actorOf(caller) })
    const plan = { flow: run.flowId, run: run.id, step: stepId, input } as z.core.util.JSONType
    const { summary = `Step ${stepId} of the flow ${run.flowId}.` } = action
    const asked = { gateId, subject: `flow:${run.id}:${stepId}`, summary, plan }
    const request =
      gateRequestId === undefined
        ? await gates.request(asked, requester)
        : await gates.get(gateRequestId, requester)
    const state = stateAt(request, now())
    if (state === 'pending')
      return { kind: 'waiting', reason: `waiting at ${gateId}`, gateRequestId: request.id }
    if (state === 'approved') await gates.consume(request.id, requester, { plan })
    // an attempt that was interrupted may have used the approval for this very step
    else if (state !== 'consumed') return createFailure(describeGateRefusal(request, state))
    return { kind: 'done', output: { request_id: request.id } }
  }

  const look: StepCaller['look'] = async (run, { gateRequestId, taskId }) => {
    if (taskId !== undefined)
      return findTaskEnd(await views().tasks.get(taskId, await findStarter(run)))
    if (gateRequestId === undefined) return { kind: 'go' }
    const request = await views().gates.get(gateRequestId, run)
    const state = stateAt(request, views().now())
    if (state === 'pending') return { kind: 'waiting', reason: `waiting at ${request.gateId}` }
    if (state === 'approved' || state === 'consumed') return { kind: 'go' }
    return createFailure(describeGateRefusal(request, state))
  }

  const withdraw = async (run: FlowRun, { gateRequestId, taskId }: StepCall): Promise<void> => {
    const caller = await findStarter(run)
    const requester = callerOf({ ...caller, actor: actorOf(caller) })
    if (taskId !== undefined) await views().tasks.cancel(taskId, caller)
    if (gateRequestId !== undefined) await views().gates.withdraw(gateRequestId, requester)
  }

  return {
    call: (request, signal) => call(request, signal).catch(failureOf),
    look: (run, waiting) => look(run, waiting).catch(failureOf),
    withdraw: (run, waiting) => withdraw(run, waiting).catch(ignoreRefusal),
  }
}

/** The kept answer of the first call says that nothing is decided, so that the second has a key too. */
const callKeyOf = (
  { callKey, gateRequestId }: StepRequest,
  operation: Operation | undefined,
): string =>
  operation?.waitsFor === undefined || gateRequestId === undefined ? callKey : `${callKey}:decided`

/**
 * Result of a call whose attempt was interrupted; undefined when the call can be made again, which
 * also returns a stored answer.
 */
const findDoubt = (operation: Operation, keeping: CallKeeping): StepResult | undefined => {
  if (keeping === 'running') return { kind: 'later', reason: `${operation.id} is still running` }
  if (keeping === 'changed') return createUnknown(`${operation.id} was interrupted after a change`)
  // nothing is in the ledger, but a gated operation may have acted outside
  if (keeping === 'begun' && operation.effect === 'gated')
    return createUnknown(`${operation.id} was interrupted and may have acted`)
  return undefined
}

/** Result of a call that threw: whether it had an effect decides. */
const resultOf = (operation: Operation, error: unknown, keeping: CallKeeping): StepResult => {
  const doubt = keeping === 'none' ? undefined : findDoubt(operation, keeping)
  if (doubt !== undefined) return doubt
  const isRefusal = error instanceof ShoalError && httpStatus(error.code) < 500
  if (operation.effect === 'gated' && !isRefusal && !isTemporary(error))
    return createUnknown(`${operation.id}: ${messageOf(error)}`)
  return failureOf(error)
}

/** Result of a call that has answered. An outcome that stays open is in doubt, as an unknown one. */
const resultOfVerdict = (id: string, { kind, value }: Verdict, output: unknown): StepResult => {
  if (kind === 'succeeded') return { kind: 'done', output }
  if (kind === 'failed') return { ...createFailure(`${id} is ${value}`), output }
  return createUnknown(`${id} is ${value}`)
}

/** The answer with what was seen later in the object that has the field at `path`. */
const mergeAt = (answer: unknown, path: string, seen: unknown): unknown => {
  const [name = '', ...below] = path.split('.')
  const members = answer as Record<string, unknown>
  if (below.length === 0) return { ...members, ...(seen as object) }
  return { ...members, [name]: mergeAt(members[name], below.join('.'), seen) }
}

const isTemporary = (error: unknown): boolean =>
  error instanceof ShoalError && TEMPORARY.includes(error.code)

const failureOf = (error: unknown): StepResult =>
  isTemporary(error) ? { kind: 'later', reason: messageOf(error) } : createFailure(messageOf(error))

/** Describes an error; only the name of a foreign one, because its message may quote anything. */
const messageOf = (error: unknown): string =>
  error instanceof ShoalError
    ? `${error.code}: ${error.message}`
    : `internal error (${(error as Error)?.name})`

const createFailure = (reason: string) => ({
  kind: 'failed' as const,
  reason: reason.slice(0, 500),
})
const createUnknown = (reason: string): StepResult => ({
  kind: 'unknown',
  reason: reason.slice(0, 500),
})

const ignoreRefusal = (error: unknown): void => {
  if (!(error instanceof ShoalError)) throw error
}
