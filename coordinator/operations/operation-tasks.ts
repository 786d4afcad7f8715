import type { Task } from '@a2a-js/sdk'
import type { Logger } from 'pino'
import { ShoalError } from '../../shared/errors.ts'
import type { Events } from '../events/bus.ts'
import { stateAt } from '../gates/request.ts'
import { actsFor } from '../keys/key.ts'
import type { NewTask } from '../tasks/new-task.ts'
import { dataPart, textPart } from '../tasks/parts.ts'
import type { TaskRun } from '../tasks/task-run.ts'
import { TaskState } from '../tasks/task-state.ts'
import type { Tasks } from '../tasks/tasks.ts'
import type { Work } from '../tasks/turn.ts'
import type { Begun } from '../tasks/turns.ts'
import type { TaskCaller, Views } from './context.ts'
import { refusalOf } from './gate-wait.ts'
import { callerOf } from './gates/gate-view.ts'
import { requireAccess } from './invoke/access.ts'
import { actorOf } from './invoke/call-context.ts'
import { parseInput } from './invoke/input.ts'
import type { Pipeline } from './invoke/invoke.ts'
import { missingInput } from './missing-input.ts'
import type { Operation } from './operation.ts'
import { type Ask, askFor, operationWork, runOf } from './operation-work.ts'
import type { ReaderOf } from './task-readers.ts'

/** Operations that run as tasks, and go on when a gate was decided or a restart cut them off. */
export interface OperationTasks {
  begin(
    ask: Ask,
    more?: Pick<NewTask, 'message' | 'contextId' | 'metadata' | 'prepare'>,
  ): Promise<Begun>
  /**
   * One call as a turn of a task that others make, with the facts that the task keeps. Input that
   * is missing is asked for; throws for any other that is wrong, and without access.
   */
  prepare(ask: Ask): { run: ReturnType<typeof runOf>; work: Work }
  /** Cancels the task and takes back what it asks of people. */
  cancel(taskId: string, by: TaskCaller): Promise<Task>
  /** Goes on with what a process that is gone has left, or ends it with the reason `coordinator_restarted`. */
  recover(): Promise<void>
  close(): void
}

export interface OperationTaskParts {
  tasks: Tasks
  readerOf: ReaderOf
  views: () => Views
  perform: Pipeline['perform']
  operations: readonly Operation[]
  events: Pick<Events, 'subscribe'>
  /** How long tasks are kept that have ended. */
  keptDays: number
  logger: Pick<Logger, 'warn'>
}

/** Decisions that another process wrote come without an event. */
const LOOK_EVERY_MS = 5000
const DROP_EVERY_MS = 600_000
const DAY_MS = 86_400_000

export const createOperationTasks = (parts: OperationTaskParts): OperationTasks => {
  const { tasks, views, events, logger } = parts
  const operations = new Map(parts.operations.map(operation => [operation.id, operation]))

  const work = (ask: Ask): Work => operationWork(views(), parts.perform, ask)

  const prepare: OperationTasks['prepare'] = ask => {
    const { operation, input, caller } = ask
    requireAccess(operation, caller.key)
    const missing = missingInput(operation, input)
    if (missing === undefined) parseInput(operation, input)
    const question: Work = async turn =>
      askFor(turn, operation, missing as NonNullable<typeof missing>)
    return { run: runOf(ask), work: missing === undefined ? work(ask) : question }
  }

  const begin: OperationTasks['begin'] = (ask, more = {}) => {
    const { caller } = ask
    return tasks.begin({
      ...more,
      run: {
        tenantId: caller.tenantId ?? '',
        keyId: caller.key?.id,
        requestId: caller.requestId,
        ...runOf(ask),
      },
      work: work(ask),
    })
  }

  const cancel: OperationTasks['cancel'] = async (taskId, by) => {
    const { tenantId = '' } = by
    await tasks.get(taskId, parts.readerOf(by))
    const task = await tasks.cancel(taskId, tenantId, `key:${by.key?.id}`)
    // as it is now: it may have come to a gate meanwhile
    const { gateRequestId } = await tasks.run(taskId)
    if (gateRequestId !== undefined) await takeBack(gateRequestId, by)
    return task
  }

  /** Only who asked can take a request back; anybody else's task ends, the request stays. */
  const takeBack = async (requestId: string, by: TaskCaller): Promise<void> => {
    try {
      await views().gates.withdraw(requestId, callerOf({ ...by, actor: actorOf(by) }))
    } catch (error) {
      if (!(error instanceof ShoalError)) throw error
    }
  }

  /** The same call again, by the same key as it is now. */
  const again = async (run: TaskRun): Promise<Work> => {
    const operation = operations.get(run.operationId ?? '')
    if (operation === undefined)
      return ending('operation_gone', 'the operation is not there any more')
    const key = run.keyId === undefined ? undefined : await views().keys.asNow(run.keyId)
    if (run.keyId !== undefined && (key === undefined || !actsFor(key, run.tenantId)))
      return ending('forbidden', 'the key that asked is not valid any more')
    const { tenantId, requestId, cellId, input } = run
    return work({ operation, input: input as object, caller: { key, tenantId, requestId }, cellId })
  }

  const goOn = async ({ taskId, tenantId }: TaskRun, work: Work): Promise<void> => {
    const { start } = await tasks.goOn(taskId, tenantId, { work })
    start()
  }

  const atGate = async (run: TaskRun): Promise<void> => {
    const { tenantId, gateRequestId = '' } = run
    const request = await views().gates.get(gateRequestId, { tenantId })
    const state = stateAt(request, views().now())
    if (state === 'pending') return
    const next =
      state === 'approved' ? await again(run) : ending(`gate_${state}`, refusalOf(request, state))
    await goOn(run, next)
  }

  /** Each by itself: one that cannot go on now is tried later and keeps no other from it. */
  const each = async (
    runs: readonly TaskRun[],
    goOnWith: (run: TaskRun) => Promise<void>,
  ): Promise<void> => {
    const failed: { task: string; error: unknown }[] = []
    for (const run of runs)
      if (!tasks.isRunning(run.taskId))
        await goOnWith(run).catch(error => {
          if (!isConflict(error)) failed.push({ task: run.taskId, error })
        })
    const [first] = failed
    if (first === undefined) return
    const facts = { err: first.error, task: first.task, failed: failed.length }
    logger.warn(facts, 'tasks could not go on now')
  }

  const lookAtGates = async (): Promise<void> => each(await tasks.decided(), atGate)

  let isLooking = false
  let lookAgain = false
  const look = async (): Promise<void> => {
    lookAgain = true
    if (isLooking) return
    isLooking = true
    try {
      for (; lookAgain; await lookAtGates()) lookAgain = false
    } catch (error) {
      logger.warn({ err: error }, 'tasks at gates were not looked at')
    } finally {
      isLooking = false
    }
  }

  const afterRestart = async (run: TaskRun): Promise<void> => {
    const resumable = operations.get(run.operationId ?? '')?.resumable === true
    const next = resumable
      ? await again(run)
      : ending(
          'coordinator_restarted',
          'the coordinator was restarted while the task was at work',
          true,
        )
    await goOn(run, next)
  }

  const recover = async (): Promise<void> => {
    await each(await tasks.cutOff(), afterRestart)
    await look()
  }

  /** Another process may have written a decision, or have died in the middle of a task. */
  const lookAround = (): Promise<void> =>
    recover().catch(error => logger.warn({ err: error }, 'cut off tasks were not looked at'))

  const drop = (): void => {
    tasks
      .drop(views().now() - parts.keptDays * DAY_MS)
      .catch(error => logger.warn({ err: error }, 'old tasks were not taken away'))
  }

  // an event comes when the turn that asked has just ended: the task is free a moment later
  const soon = (): void => void setImmediate(look)
  const stops = [
    events.subscribe('shoal.gate.', soon),
    events.subscribe('shoal.task.auth-required', soon),
  ]
  const timers = [
    setInterval(() => void lookAround(), LOOK_EVERY_MS),
    setInterval(drop, DROP_EVERY_MS),
  ]
  for (const timer of timers) timer.unref()
  const close = (): void => {
    for (const timer of timers) clearInterval(timer)
    for (const stop of stops) stop()
  }

  return { begin, prepare, cancel, recover, close }
}

/** A turn that only ends the task: refused, or failed. */
const ending =
  (reason: string, text: string, failed = false): Work =>
  async turn => {
    turn.status(failed ? TaskState.TASK_STATE_FAILED : TaskState.TASK_STATE_REJECTED, {
      reason,
      parts: [textPart(text), dataPart({ error: { code: reason, message: text } })],
    })
  }

/** Somebody else was quicker. */
const isConflict = (error: unknown): boolean =>
  error instanceof ShoalError && error.code === 'conflict'
