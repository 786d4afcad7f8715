import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'
import { type Runtime, sleep } from '../../../shared/runtime.ts'
import { iso } from '../../../shared/time.ts'
import type { EventDraft, Events } from '../../kernel/events/bus.ts'
import type { Ledger, SealedTrx } from '../../kernel/store/store.ts'
import { applyEvent, withMessage } from './apply.ts'
import type { TransitionFields } from './history.ts'
import { type StoredTail, storeBatch, storeFirst, type TaskEntry } from './live-store.ts'
import type { Mail } from './mailbox.ts'
import { agentMessage } from './parts.ts'
import { TaskElsewhereError } from './take-task.ts'
import type { Task, TaskEvent } from './task.ts'
import type { TaskHooks } from './task-hooks.ts'
import type { TaskRun } from './task-run.ts'
import { isSettled, type TaskState } from './task-state.ts'
import type { Opening, StatusMore, Turn } from './turn.ts'

export interface LiveTaskParts {
  ledger: Ledger
  /** Process that owns the task. */
  worker: string
  addEvents: Events['addWithin']
  hooks: TaskHooks | undefined
  /** Runs for each event after it is stored. */
  onEvent: (task: Task, event: TaskEvent, tenantId: string) => void
  /** Runs when a change cannot be stored now; storing is retried unless the task `isLost`. */
  onError: (taskId: string, error: Error) => void
  logger: Pick<Logger, 'warn'>
  now: () => number
  runtime: Pick<Runtime, 'setTimeout'>
}

/** Takes the task and removes the mail that the turn acts on; part of the first store of the turn. */
export type ClaimTask = (trx: SealedTrx) => Promise<void>

const RETRY_MS = 1000

/**
 * A task while this process owns it and runs one of its turns. Events change the copy in memory at
 * once; they are stored in order, in batches when the store is slower, and reported after that.
 */
export class LiveTask {
  task: Task
  run: TaskRun
  /** Task as last reported to its followers. */
  reportedTask: Task
  /** True when another process has taken the task. */
  isLost = false
  /** True when mail arrived that this turn cannot act on; it is read after the turn. */
  hasMail = false
  readonly #parts: LiveTaskParts
  readonly #stop = new AbortController()
  readonly #pending: TaskEntry[] = []
  #writing: Promise<void> | undefined
  #claim: ClaimTask | undefined
  #actor = 'coordinator'
  #isClosing = false
  #isOver = false
  /** Rejects when the next attempt to store fails. */
  #failure = Promise.withResolvers<never>()
  #stored: StoredTail = { last: undefined, person: undefined }

  constructor(task: Task, run: TaskRun, parts: LiveTaskParts) {
    this.task = task
    this.reportedTask = task
    this.run = run
    this.#parts = parts
  }

  /** True when the turn has reached the state that ends it; later events have no effect. */
  get isOver(): boolean {
    return this.#isOver
  }

  turn(): Turn {
    const { task } = this
    return {
      taskId: task.id,
      contextId: task.contextId,
      signal: this.#stop.signal,
      artifacts: task.artifacts,
      status: (state, more) => this.status(state, more),
      artifact: (artifact, { append = false, lastChunk = true } = {}) => {
        this.#emit({ kind: 'artifact', artifact, append, lastChunk })
      },
    }
  }

  async saveFirst(trx: SealedTrx): Promise<void> {
    this.#stored = await storeFirst(trx, this.task, this.run, this.#parts.worker)
    await this.#parts.addEvents(trx, [this.#eventOf('submitted')])
  }

  /** Reports the new task to its followers. */
  announce(): void {
    this.#parts.onEvent(this.task, { kind: 'task', task: this.task }, this.run.tenantId)
  }

  /** Prepares the next turn: it continues with the call in the mail and no longer waits. */
  prepare({ body, actor }: Mail): void {
    this.run = { ...this.run, ...body?.run, waits: undefined, gateRequestId: undefined }
    this.#actor = actor
    if (body === undefined) return
    const { id: taskId, contextId, history } = this.task
    const own = { ...body.message, taskId, contextId }
    this.task = { ...this.task, history: withMessage(history, own) }
  }

  /** Starts a turn: its first state is stored in one transaction with `claim`. */
  begin({ state, more }: Opening, claim: ClaimTask): void {
    this.#claim = claim
    this.status(state, more)
  }

  status(state: TaskState, { parts, reason, run, actor }: StatusMore = {}): void {
    if (this.#isOver || this.isLost) return
    const { id: taskId, contextId, status: before } = this.task
    const at = this.#parts.now()
    const message = parts && agentMessage(taskId, contextId, parts)
    const status = { state, message, timestamp: iso(at) }
    this.run = { ...this.run, ...run }
    const change: TransitionFields = {
      at,
      fromState: before.state,
      toState: state,
      actor: actor ?? this.#actor,
      reason,
      gateRequestId: this.run.gateRequestId,
    }
    this.#actor = 'coordinator'
    this.#emit({ kind: 'status', status }, before.state === state ? undefined : change)
    this.#isOver = isSettled(state)
  }

  abort(): void {
    this.#stop.abort(new ShoalError('client_closed', 'the task was cancelled'))
  }

  /** Stops the turn for shutdown: a failed store is not retried. */
  close(): void {
    this.#isClosing = true
    this.abort()
  }

  /** Resolves when all events so far are stored and reported. */
  async waitForFlush(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing
  }

  /** Resolves as `waitForFlush` does; rejects when a store fails, which is still retried. */
  waitForStore(): Promise<void> {
    return Promise.race([this.waitForFlush(), this.#failure.promise])
  }

  #emit(event: TaskEvent, change?: TransitionFields): void {
    if (this.#isOver || this.isLost) return
    this.task = applyEvent(this.task, event)
    this.#pending.push({ event, task: this.task, change })
    this.#writing ??= this.#write()
  }

  /** Writes pending events until none is left; a later event starts it again. */
  async #write(): Promise<void> {
    const { onError, logger, runtime } = this.#parts
    while (this.#pending.length > 0) {
      try {
        const batch = await this.#store()
        this.#pending.splice(0, batch.length)
        for (const entry of batch) this.#tell(entry)
      } catch (error) {
        // losing the race for the mail to another process is expected and not logged
        if (!(error instanceof TaskElsewhereError && this.#claim !== undefined))
          logger.warn({ err: error, task: this.task.id }, 'a task could not be stored')
        if (error instanceof TaskElsewhereError) this.#giveUp()
        this.#fail(error)
        onError(this.task.id, error as Error)
        if (this.#isClosing || this.isLost) break
        await sleep(runtime, RETRY_MS, { ref: false })
      }
    }
    this.#writing = undefined
  }

  #fail(error: unknown): void {
    const { promise, reject } = this.#failure
    this.#failure = Promise.withResolvers()
    promise.catch(() => {})
    reject(error)
  }

  /** Abandons the task to the process that has taken it. */
  #giveUp(): void {
    this.#pending.length = 0
    this.isLost = true
    this.abort()
  }

  async #store(): Promise<TaskEntry[]> {
    const { worker, hooks, ledger, addEvents } = this.#parts
    const { batch, stored } = await ledger.sealed.write(async trx => {
      const batch = [...this.#pending]
      const { run } = this
      await this.#claim?.(trx)
      const tail = this.#stored
      const stored = await storeBatch(trx, batch, { run, worker, hooks, tail })
      const drafts = batch.flatMap(({ change }) =>
        change === undefined ? [] : [this.#eventOf(change.toState, change, stored)],
      )
      await addEvents(trx, drafts)
      return { batch, stored }
    })
    this.#claim = undefined
    this.#stored = stored
    hooks?.wake()
    return batch
  }

  #tell({ event, task }: TaskEntry): void {
    this.reportedTask = task
    this.#parts.onEvent(task, event, this.run.tenantId)
  }

  #eventOf(state: string, change?: TransitionFields, { person } = this.#stored): EventDraft {
    const { taskId, tenantId, operationId, keyId } = this.run
    const data = {
      tenant_id: tenantId,
      key_id: keyId ?? null,
      person_id: person ?? null,
      operation: operationId ?? null,
      from: change?.fromState ?? null,
      reason: change?.reason ?? null,
    }
    return { type: `shoal.task.${state}`, data, subject: taskId }
  }
}
