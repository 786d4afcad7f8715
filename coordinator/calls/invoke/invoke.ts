import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import type { Runtime } from '../../../shared/runtime.ts'
import type { Keys } from '../../access/keys/keys.ts'
import type { CallSkill, TaskCaller } from '../../kernel/declaration/context.ts'
import type { SkillFacts } from '../../kernel/declaration/declaration.ts'
import type { Operation } from '../../kernel/declaration/operation.ts'
import type { Outcome } from '../../kernel/declaration/outcome.ts'
import { PendingResult } from '../../kernel/declaration/pending-result.ts'
import type { Idempotency } from '../idempotency/idempotency.ts'
import type { OperationTasks } from '../tasks/operation-tasks.ts'
import { accessError, type Guarded } from './access.ts'
import { contextFor, type PipelineViews } from './call-context.ts'
import { type Count, type CountParts, createCount, runWithRefund } from './count.ts'
import { perform } from './gate.ts'
import { parseInput } from './input.ts'
import type { Call, Invocation } from './invocation.ts'
import { holdKey } from './key-hold.ts'
import { runOnce } from './repeat.ts'
import type { ResolveReferences } from './resolve-references.ts'
import { CallTime } from './time.ts'

export interface PipelineParts extends CountParts {
  /** Operations that calls may name by their id: the skills. */
  skills: readonly (Operation & SkillFacts)[]
  views: () => PipelineViews
  /** Tasks, for operations that answer from one. */
  tasks: () => Pick<OperationTasks, 'begin'> | undefined
  idempotency?: Idempotency | undefined
  resolveReferences: ResolveReferences
  /** Ends calls whose key has ended; without it such calls run on. */
  hold?: Keys['hold'] | undefined
  logger: Pick<Logger, 'warn'>
  runtime: Pick<Runtime, 'nowMs' | 'setTimeout' | 'ids'>
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
   * Checks the access of a caller ahead of a call, or for a route that calls no operation; part of
   * `invoke` for others. Throws `auth_required` or `forbidden`.
   */
  authorize(operation: Guarded, caller: Pick<TaskCaller, 'key'>): void
  /**
   * Runs the second half of `invoke` for a turn of a task: access is checked again, then everything
   * from the time limit on. Resolves with the output, or with `PendingResult`.
   */
  perform(call: Call, signal: AbortSignal): Promise<unknown>
}

export class CallPipeline implements Pipeline {
  readonly count: Count
  readonly #parts: PipelineParts
  readonly #skills: ReadonlyMap<string, Operation>

  constructor(parts: PipelineParts) {
    this.#parts = parts
    this.count = createCount(parts)
    this.#skills = new Map(parts.skills.map(skill => [skill.id, skill]))
  }

  invoke = async (invocation: Invocation): Promise<Outcome> => {
    const { caller, operation, isCounted } = invocation
    if (isCounted) return this.#admit(invocation)
    return runWithRefund(await this.count(caller, operation), () => this.#admit(invocation))
  }

  authorize: Pipeline['authorize'] = (operation, { key }) => {
    const error = accessError(operation, key)
    if (error !== undefined) throw error
  }

  perform = async (call: Call, signal: AbortSignal): Promise<unknown> => {
    this.authorize(call.operation, call.caller)
    // no `hold`: a task outlives the key that began it, whose rights were checked at its start
    return this.#time(call, { signals: [signal] }, time =>
      this.#run({ ...call, isOnce: true }, time),
    )
  }

  async #admit(invocation: Invocation): Promise<Outcome> {
    const { operation, caller, read, repeat, listener, isOnce = repeat !== undefined } = invocation
    this.authorize(operation, caller)
    return this.#answer({ ...(await read()), operation, caller, listener, isOnce }, invocation)
  }

  async #answer(call: Call, { repeat, signals }: Invocation): Promise<Outcome> {
    const { views, idempotency, hold, runtime } = this.#parts
    const isTask = call.operation.mode === 'task'
    const { answer, replayed } = await this.#time(call, { signals, hold }, time =>
      runOnce(
        call,
        { views, idempotency, repeat, runtime },
        () => (isTask ? this.#begin(call) : this.#run(call, time)),
        created => this.#recall(call, created, time),
      ),
    )
    if (answer instanceof PendingResult) return { kind: 'pending', pending: answer }
    if (!isTask) return { kind: 'done', output: answer, isReplay: replayed }
    return { kind: 'task', taskId: (answer as Begun).task_id, isReplay: replayed }
  }

  /**
   * Begins a task. The input is checked and the names of cells are resolved first, so that a wrong
   * one is refused at once, and all turns mean the same cells.
   */
  async #begin({ operation, input, caller, cellId }: Call): Promise<Begun> {
    const tasks = this.#parts.tasks()
    if (tasks === undefined) throw new ShoalError('internal', 'this process cannot run tasks')
    parseInput(operation, input)
    const named = await this.#parts.resolveReferences(operation, input as object, cellId)
    const begun = await tasks.begin({ operation, caller, ...named })
    begun.start()
    return { task_id: begun.taskId }
  }

  async #time<T>(
    call: Call,
    { signals, hold }: Pick<Invocation, 'signals'> & Pick<PipelineParts, 'hold'>,
    work: (time: CallTime) => Promise<T>,
  ): Promise<T> {
    const { views, logger, runtime } = this.#parts
    const { operation, caller } = call
    const facts = { operation: operation.id, request: caller.requestId }
    const late = () =>
      logger.warn(facts, 'a call ended after its time limit; its result is discarded')
    const time = new CallTime({ operation, signals, onLate: late, runtime })
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
        views().calls.add({
          operationId: operation.id,
          tenantId: caller.tenantId,
          durationMs: this.#parts.runtime.nowMs() - time.startedMs,
          failed,
        })
    }
  }

  async #run(call: Call, time: CallTime): Promise<unknown> {
    const { operation } = call
    time.startedMs = this.#parts.runtime.nowMs()
    const { views, resolveReferences } = this.#parts
    const parsed = parseInput(operation, call.input)
    const { input, cellId } = await resolveReferences(operation, parsed, call.cellId)
    const { signal } = time
    const callSkill = this.#callSkillOf(call, signal)
    const context = contextFor(views(), { ...call, cellId }, { signal, callSkill })
    const answer = await perform(operation, input, context)
    return answer instanceof PendingResult ? answer : operation.output.encode(answer)
  }

  /** Answer of an interrupted call, from what it has created; undefined where that tells none. */
  async #recall(call: Call, created: readonly string[], { signal }: CallTime): Promise<unknown> {
    const { recall, output } = call.operation
    const callSkill = this.#callSkillOf(call, signal)
    const context = contextFor(this.#parts.views(), call, { signal, callSkill })
    const answer = await recall?.(created, context as never)
    return answer === undefined ? undefined : output.encode(answer)
  }

  #callSkillOf({ caller, isOnce }: Call, signal: AbortSignal): CallSkill {
    return (id, { input, onAdmitted: admitted, isCounted, ends = signal }) => {
      const operation = this.#skills.get(id)
      if (operation === undefined) throw createUnknownError('skill', id)
      const read = async () => {
        await admitted?.()
        return { input }
      }
      return this.invoke({ operation, caller, read, isCounted, isOnce, signals: [ends] })
    }
  }
}

interface Begun {
  task_id: string
}
