import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'
import type { Idempotency } from '../../idempotency/idempotency.ts'
import type { Keys } from '../../keys/keys.ts'
import type { CallSkill, Views } from '../context.ts'
import type { Operation } from '../operation.ts'
import type { OperationTasks } from '../operation-tasks.ts'
import { Pending } from '../pending.ts'
import { requireAccess } from './access.ts'
import { contextFor } from './call-context.ts'
import { type Count, type CountParts, countingWith, refunding } from './count.ts'
import { carryOut } from './gate.ts'
import { parseInput } from './input.ts'
import type { Call, Invocation } from './invocation.ts'
import { holdKey } from './key-hold.ts'
import type { Outcome } from './outcome.ts'
import { runOnce } from './repeat.ts'
import { CallTime } from './time.ts'

export interface PipelineParts extends CountParts {
  /** Operations that calls may name by their id: the skills. */
  skills: readonly Operation[]
  views: () => Views
  /** Needed by operations that answer from a task. */
  tasks: () => Pick<OperationTasks, 'begin'> | undefined
  idempotency?: Idempotency | undefined
  /** Ends calls whose key has ended; without it they go on. */
  hold?: Keys['hold'] | undefined
  logger: Pick<Logger, 'warn'>
}

/** The only way from a surface to the `run` of an operation. */
export interface Pipeline {
  /**
   * Calls an operation: limits, access, idempotency, mode, time, input, gate, run, output and
   * statistics, in this order. Throws `ShoalError` for a refusal.
   */
  invoke(invocation: Invocation): Promise<Outcome>
  /** Counts a request that calls no operation, such as one for a list; part of `invoke` for others. */
  count: Count
  /**
   * The second half of `invoke`, for the turn of a task: access once more, and everything from the
   * time on. The answer is the output, or `Pending`.
   */
  perform(call: Call, signal: AbortSignal): Promise<unknown>
}

export const createPipeline = (parts: PipelineParts): Pipeline => {
  const { views, idempotency, hold, logger } = parts
  const count = countingWith(parts)
  const skills = new Map(parts.skills.map(skill => [skill.id, skill]))

  const invoke: Pipeline['invoke'] = async invocation => {
    const { caller, isCounted } = invocation
    if (isCounted) return admitted(invocation)
    return refunding(await count(caller), () => admitted(invocation))
  }

  const admitted = async (invocation: Invocation): Promise<Outcome> => {
    const { operation, caller, read, listener } = invocation
    requireAccess(operation, caller.key)
    return answer({ ...(await read()), operation, caller, listener }, invocation)
  }

  const answer = async (call: Call, { repeat, signals }: Invocation): Promise<Outcome> => {
    const isTask = call.operation.mode === 'task'
    const { answer, replayed } = await timed(call, { signals, hold }, time =>
      runOnce(call, { idempotency, repeat }, () => (isTask ? begin(call) : run(call, time))),
    )
    if (answer instanceof Pending) return { kind: 'pending', pending: answer }
    if (!isTask) return { kind: 'done', output: answer, isReplay: replayed }
    return { kind: 'task', taskId: (answer as Begun).task_id, isReplay: replayed }
  }

  /** The input is checked first: a wrong one is refused at once, not by the task. */
  const begin = async ({ operation, input, caller, cellId }: Call): Promise<Begun> => {
    const tasks = parts.tasks()
    if (tasks === undefined) throw new ShoalError('internal', 'tasks cannot be run here')
    parseInput(operation, input)
    const { taskId, start } = await tasks.begin({
      operation,
      input: input as object,
      caller,
      cellId,
    })
    start()
    return { task_id: taskId }
  }

  const timed = async <T>(
    call: Call,
    { signals, hold }: Pick<Invocation, 'signals'> & Pick<PipelineParts, 'hold'>,
    work: (time: CallTime) => Promise<T>,
  ): Promise<T> => {
    const { operation, caller } = call
    const facts = { operation: operation.id, request: caller.requestId }
    const late = () =>
      logger.warn(facts, 'a call ended after its time limit; its result is dropped')
    const time = new CallTime({ operation, signals, late })
    const release = holdKey(call, time, hold)
    let failed = true
    try {
      const result = await time.race(() => work(time))
      failed = false
      return result
    } finally {
      release()
      time.close()
      if (time.startedMs !== undefined)
        views().calls.add(operation.id, performance.now() - time.startedMs, failed)
    }
  }

  const run = async (call: Call, time: CallTime): Promise<unknown> => {
    const { operation } = call
    time.startedMs = performance.now()
    const input = parseInput(operation, call.input)
    const { signal } = time
    const context = contextFor(views(), call, { signal, callSkill: callSkillOf(call, signal) })
    const answer = await (operation.effect === 'gated'
      ? carryOut(operation, input, context)
      : operation.run(input as never, context))
    return answer instanceof Pending ? answer : operation.output.encode(answer)
  }

  const callSkillOf =
    ({ caller }: Call, signal: AbortSignal): CallSkill =>
    (id, { input, admitted, isCounted, ends = signal }) => {
      const operation = skills.get(id)
      if (operation === undefined) throw new ShoalError('not_found', `no skill ${id}`)
      const read = async () => {
        await admitted?.()
        return { input }
      }
      return invoke({ operation, caller, read, isCounted, signals: [ends] })
    }

  const perform: Pipeline['perform'] = async (call, signal) => {
    requireAccess(call.operation, call.caller.key)
    // a task outlives the key that began it: what it may do was looked at
    return timed(call, { signals: [signal] }, time => run(call, time))
  }

  return { invoke, count, perform }
}

interface Begun {
  task_id: string
}
