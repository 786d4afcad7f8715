import type { Message, Task } from '@a2a-js/sdk'
import type { Logger } from 'pino'
import { errorBody, ShoalError } from '../../shared/errors.ts'
import type { Ledger, SealedTrx } from '../store/store.ts'
import { withMessage } from './apply.ts'
import { claimMessage } from './claim.ts'
import { createLease, LEASE_MS, TaskElsewhere } from './lease.ts'
import { Live, type LiveParts } from './live.ts'
import { firstTask, type NewTask } from './new-task.ts'
import { dataPart, textPart } from './parts.ts'
import { readRun, readTask, saveTask } from './task-rows.ts'
import { isFinal, TaskState } from './task-state.ts'
import type { StatusMore, Work } from './turn.ts'

export interface NextTurn {
  message?: Message | undefined
  /** Who goes on with it: `key:…`. */
  actor?: string
  run?: StatusMore['run']
  work: Work
}

export interface Begun {
  taskId: string
  /** True when the same message had begun it before; then there is nothing to start. */
  again: boolean
  /** Has an effect once. */
  start: () => void
}

/** The turns that this process runs. */
export interface Turns {
  begin(task: NewTask): Promise<Begun>
  /** One more turn of a task that waits. Throws `conflict` while it works or when it is over. */
  goOn(taskId: string, tenantId: string, next: NextTurn): Promise<Begun>
  /**
   * Ends it as cancelled. Throws `TaskElsewhere`, `conflict` for one that has another end, and
   * `store_unavailable` when its end cannot be stored now: it is tried until it is.
   */
  cancel(taskId: string, tenantId: string, actor: string): Promise<Task>
  /** While a turn of it runs here: the task as it was told last. */
  toldTask(taskId: string): Task | undefined
  isRunning(taskId: string): boolean
  /** Stops all of them without an end. */
  close(): Promise<void>
}

export interface TurnParts extends LiveParts {
  ledger: Ledger
  logger: Pick<Logger, 'warn' | 'error'>
  /** What happens to it is not told here any more. */
  left: (taskId: string) => void
}

/** Turns that run at one time, and of one tenant. */
export const MAX_RUNNING = 2000
export const MAX_RUNNING_PER_TENANT = 500

export const createTurns = (parts: TurnParts): Turns => {
  const { ledger, logger, now, worker } = parts
  const lease = createLease({ worker, now })
  const lives = new Map<string, Live>()
  let closing = false

  /** Runs one turn to its end; its task always has a state that somebody can act on. */
  const perform = async (live: Live, work: Work): Promise<void> => {
    try {
      await work(live.turn())
      if (!closing && !live.isSettled())
        fail(live, new ShoalError('internal', 'the task ended without a result'))
    } catch (error) {
      if (!closing) fail(live, error)
    }
    await live.flushed()
    leave(live)
  }

  const leave = (live: Live): void => {
    const { id } = live.task
    if (lives.get(id) !== live) return
    lives.delete(id)
    parts.left(id)
  }

  const liveParts: LiveParts = {
    ...parts,
    failed: (taskId, error) =>
      error instanceof TaskElsewhere ? parts.left(taskId) : parts.failed(taskId, error),
  }

  const fail = (live: Live, thrown: unknown): void => {
    const known = thrown instanceof ShoalError
    if (!known) logger.error({ err: thrown, task: live.task.id }, 'a task failed')
    const error = known ? thrown : new ShoalError('internal', 'the coordinator failed on this task')
    live.status(TaskState.TASK_STATE_FAILED, {
      reason: error.code,
      parts: [textPart(error.message), dataPart(errorBody(error))],
    })
  }

  const held = (taskId: string): Live | undefined => {
    const live = lives.get(taskId)
    return live?.isLost === true ? undefined : live
  }

  /** Starts the turn the first time that it is called, and never again. */
  const starter = (live: Live, work: Work) => {
    let isStarted = false
    return (): void => {
      if (isStarted) return
      isStarted = true
      void perform(live, work)
    }
  }

  const requireRoom = (tenantId: string): void => {
    if (closing) throw new ShoalError('draining', 'the coordinator stops')
    if (lives.size >= MAX_RUNNING)
      throw new ShoalError('rate_limited', `${MAX_RUNNING} tasks run already`)
    const own = lives.size < MAX_RUNNING_PER_TENANT ? 0 : countOf(tenantId)
    if (own >= MAX_RUNNING_PER_TENANT)
      throw new ShoalError('rate_limited', `${own} tasks of this tenant run already`)
  }

  const countOf = (tenantId: string): number =>
    [...lives.values()].filter(({ run }) => run.tenantId === tenantId).length

  /**
   * Gives it a place here when `store` has stored it. Answers the task that took the same message
   * before: then nothing was stored. Throws `conflict` for a task that has a place.
   */
  const placed = async (
    live: Live,
    store: (trx: SealedTrx) => Promise<void>,
    { message, keyId }: { message?: Message | undefined; keyId?: string | undefined } = {},
  ): Promise<string | undefined> => {
    const { id } = live.task
    if (lives.has(id)) throw new ShoalError('conflict', `task ${id} is at work`)
    lives.set(id, live)
    try {
      const before = await ledger.sealed.write(async trx => {
        const taken = message && keyId && (await claimMessage(trx, keyId, message, id))
        if (!taken) await store(trx)
        return taken || undefined
      })
      if (before !== undefined) leave(live)
      return before
    } catch (error) {
      leave(live)
      throw error
    }
  }

  const begin: Turns['begin'] = async asked => {
    const { work, message, prepare } = asked
    requireRoom(asked.run.tenantId)
    const { task, run } = firstTask(asked, now())
    const live = new Live(task, run, liveParts)
    const before = await placed(
      live,
      async trx => {
        await lease.keep(trx)
        await live.saveFirst(trx)
        await prepare?.(task.id)
      },
      { message, keyId: run.keyId },
    )
    if (before !== undefined) return begunBefore(before)
    live.announce()
    return { taskId: task.id, again: false, start: starter(live, work) }
  }

  /** One that has not ended, for a turn of it. Throws `conflict`. */
  const open = async (taskId: string, tenantId: string): Promise<Live> => {
    const task = await readTask(ledger.read, taskId, tenantId)
    const run = await readRun(ledger.read, taskId)
    if (isFinal(task.status?.state))
      throw new ShoalError('conflict', `task ${taskId} has come to its end`)
    return new Live(task, run, liveParts)
  }

  /** Makes it this process's, as it was when it was read. Throws `conflict`. */
  const take = async (trx: SealedTrx, { task, run }: Live): Promise<void> => {
    await lease.take(trx, task.id)
    const { status } = await readTask(trx, task.id, run.tenantId)
    if (status?.state !== task.status?.state || status?.timestamp !== task.status?.timestamp)
      throw new ShoalError('conflict', `another process has gone on with task ${task.id}`)
  }

  const goOn: Turns['goOn'] = async (taskId, tenantId, { message, actor, run, work }) => {
    requireRoom(tenantId)
    const live = await open(taskId, tenantId)
    const { keyId } = { ...live.run, ...run }
    const before = await placed(
      live,
      async trx => {
        await take(trx, live)
        if (message === undefined) return
        const own = { ...message, taskId, contextId: live.task.contextId }
        live.task = { ...live.task, history: withMessage(live.task.history, own) }
        await saveTask(trx, live.task, tenantId)
      },
      { message, keyId },
    )
    if (before !== undefined) return begunBefore(before)
    live.prepare({ ...run, waits: undefined, gateRequestId: undefined }, actor)
    return { taskId, again: false, start: starter(live, work) }
  }

  /** One that waits, for a change from outside. */
  const taken = async (taskId: string, tenantId: string): Promise<Live> => {
    const live = await open(taskId, tenantId)
    await placed(live, trx => take(trx, live))
    return live
  }

  const cancel: Turns['cancel'] = async (taskId, tenantId, actor) => {
    const live = lives.get(taskId) ?? (await taken(taskId, tenantId))
    live.status(TaskState.TASK_STATE_CANCELED, {
      actor,
      reason: 'cancelled by the caller',
      run: { waits: undefined },
    })
    live.abort()
    // also when nobody waits for it any more
    void live.flushed().then(() => leave(live))
    await live.stored().catch(error => {
      throw unstored(error, taskId)
    })
    leave(live)
    const after = await readTask(ledger.read, taskId, tenantId)
    if (after.status?.state === TaskState.TASK_STATE_CANCELED) return after
    throw new ShoalError('conflict', `task ${taskId} has come to its end`)
  }

  const beating = setInterval(() => {
    if (lives.size === 0) return
    ledger.free
      .write(lease.keep)
      .catch(error => logger.warn({ err: error }, 'this process could not say that it runs tasks'))
  }, LEASE_MS / 3)
  beating.unref()

  const close = async (): Promise<void> => {
    closing = true
    clearInterval(beating)
    for (const live of lives.values()) live.close()
    await Promise.all([...lives.values()].map(live => live.flushed()))
    await ledger.free
      .write(lease.end)
      .catch(error => logger.warn({ err: error }, 'tasks were not let go'))
  }

  return {
    ...{ begin, goOn, cancel, close },
    toldTask: taskId => held(taskId)?.toldTask,
    isRunning: taskId => held(taskId) !== undefined,
  }
}

const unstored = (cause: unknown, taskId: string): ShoalError =>
  cause instanceof ShoalError
    ? cause
    : new ShoalError('store_unavailable', `the end of task ${taskId} could not be stored yet`, {
        cause,
      })

const begunBefore = (taskId: string): Begun => ({ taskId, again: true, start: () => {} })
