import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'
import type { Runtime } from '../../../shared/runtime.ts'
import { callerOf } from '../../access/gates/operations/gate-view.ts'
import type { TaskCaller } from '../../kernel/declaration/context.ts'
import { findMissingInput } from '../../kernel/declaration/missing-input.ts'
import type { Operation } from '../../kernel/declaration/operation.ts'
import type { Events } from '../../kernel/events/bus.ts'
import { actorOf, type PipelineViews } from '../invoke/call-context.ts'
import { parseInput } from '../invoke/input.ts'
import type { Pipeline } from '../invoke/invoke.ts'
import type { ResolveReferences } from '../invoke/resolve-references.ts'
import type { NewTask } from './new-task.ts'
import { createOpening, type OperationRequest, questionFor, runFactsOf } from './operation-work.ts'
import type { Task } from './task.ts'
import { taskAnswers } from './task-answers.ts'
import type { StartedTask } from './task-owner.ts'
import type { ReaderOf } from './task-readers.ts'
import { TaskUpkeep } from './task-upkeep.ts'
import type { Tasks } from './tasks.ts'
import { type Opening, workOf } from './turn.ts'

/** Operations that run as tasks, and go on when a gate was decided or a restart cut them off. */
export interface OperationTasks {
  begin(
    ask: OperationRequest,
    more?: Pick<NewTask, 'message' | 'contextId' | 'metadata' | 'prepare'>,
  ): Promise<StartedTask>
  /**
   * Prepares one call as a turn of a task created over A2A, with the facts that the task keeps.
   * Missing input opens with a question; throws for invalid input, without access, and for the name
   * of several cells. The names of cells are resolved, so that all turns mean the same ones.
   */
  prepare(ask: OperationRequest): Promise<{ run: ReturnType<typeof runFactsOf>; opening: Opening }>
  /** Cancels the task and withdraws its pending approval requests. */
  cancel(taskId: string, by: TaskCaller): Promise<Task>
  /**
   * Continues the tasks that can go on: those whose gate was decided, and those that a
   * terminated process left behind, which it may also end with the reason `coordinator_restarted`.
   */
  recover(): Promise<void>
  close(): void
}

interface OperationTaskParts {
  tasks: Tasks
  readerOf: ReaderOf
  views: () => PipelineViews
  pipeline: Pick<Pipeline, 'authorize' | 'perform'>
  operations: readonly Operation[]
  resolveReferences: ResolveReferences
  events: Pick<Events, 'subscribe'>
  logger: Pick<Logger, 'warn'>
  runtime: Pick<Runtime, 'setImmediate'>
}

export const createOperationTasks = (parts: OperationTaskParts): OperationTasks => {
  const { tasks, views, pipeline, operations, events, logger, runtime } = parts
  const open = (ask: OperationRequest): Opening => createOpening(views(), pipeline.perform, ask)
  tasks.serve(taskAnswers({ views, operations, open }))
  const upkeep = new TaskUpkeep({ tasks, events, logger, runtime })

  const prepare: OperationTasks['prepare'] = async ask => {
    const { operation, input, caller, cellId } = ask
    pipeline.authorize(operation, caller)
    const missing = findMissingInput(operation, input)
    if (missing !== undefined)
      return { run: runFactsOf(ask), opening: questionFor(operation, missing) }
    parseInput(operation, input)
    const named = { ...ask, ...(await parts.resolveReferences(operation, input, cellId)) }
    return { run: runFactsOf(named), opening: open(named) }
  }

  const begin: OperationTasks['begin'] = (ask, more = {}) => {
    const { caller } = ask
    return tasks.begin({
      ...more,
      run: {
        tenantId: caller.tenantId ?? '',
        keyId: caller.key?.id,
        requestId: caller.requestId,
        ...runFactsOf(ask),
      },
      work: workOf(open(ask)),
    })
  }

  const cancel: OperationTasks['cancel'] = async (taskId, by) => {
    const { tenantId = '' } = by
    await tasks.get(taskId, parts.readerOf(by))
    const task = await tasks.cancel(taskId, tenantId, `key:${by.key?.id}`)
    // read again, since the task may have come to a gate meanwhile
    const { gateRequestId } = await tasks.run(taskId)
    if (gateRequestId !== undefined) await withdraw(gateRequestId, by)
    return task
  }

  /**
   * Withdraws a request, which only its requester can do; if another caller cancels the task, the
   * request is unchanged.
   */
  const withdraw = async (requestId: string, by: TaskCaller): Promise<void> => {
    try {
      await views().gates.withdraw(requestId, callerOf({ ...by, actor: actorOf(by) }))
    } catch (error) {
      if (!(error instanceof ShoalError)) throw error
    }
  }

  return {
    begin,
    prepare,
    cancel,
    recover: () => upkeep.look(),
    close: () => upkeep.close(),
  }
}
