import { setTimeout } from 'node:timers/promises'
import type { StreamResponse, Task } from '@a2a-js/sdk'
import type { Logger } from 'pino'
import { ShoalError } from '../../shared/errors.ts'
import type { Events } from '../events/bus.ts'
import type { Ledger, SealedTrx } from '../store/store.ts'
import { applied, withMessage } from './apply.ts'
import type { Change } from './history.ts'
import { TaskElsewhere } from './lease.ts'
import { type Entry, type Stored, storeBatch, storeFirst } from './live-store.ts'
import type { Mail } from './mailbox.ts'
import { agentMessage } from './parts.ts'
import type { TaskHooks } from './task-hooks.ts'
import type { TaskRun } from './task-run.ts'
import { isSettled, stateName, type TaskState } from './task-state.ts'
import type { Opening, StatusMore, Turn } from './turn.ts'

export interface LiveParts {
  ledger: Ledger
  /** The process that owns the task. */
  worker: string
  publish: Events['publish']
  hooks: TaskHooks | undefined
  /** Called for each event after it was stored. */
  told: (task: Task, event: StreamResponse, tenantId: string) => void
  /** Called when a change cannot be stored now; storing is tried again unless the task `isLost`. */
  failed: (taskId: string, error: Error) => void
  logger: Pick<Logger, 'warn'>
  now: () => number
}

/** Takes the task and removes the mail that the turn acts on; part of the first store of the turn. */
export type Claim = (trx: SealedTrx) => Promise<void>

const RETRY_MS = 1000

/**
 * A task while a turn of it runs in this process, which owns it. Events change the copy here at
 * once; they are stored in order, several together where storing is slower, and told after that.
 */
export class Live {
  task: Task
  run: TaskRun
  /** The task as its followers saw it last. */
  toldTask: Task
  /** Another process has taken it. */
  isLost = false
  /** Mail came that this turn cannot act on; it is read when the turn is over. */
  hasMail = false
  readonly #parts: LiveParts
  readonly #stop = new AbortController()
  readonly #pending: Entry[] = []
  #writing: Promise<void> | undefined
  #claim: Claim | undefined
  #actor = 'coordinator'
  #isClosing = false
  #isOver = false
  /** Rejects with the next attempt to store something that fails. */
  #failure = Promise.withResolvers<never>()
  #stored: Stored = { last: undefined, person: undefined }

  constructor(task: Task, run: TaskRun, parts: LiveParts) {
    this.task = task
    this.toldTask = task
    this.run = run
    this.#parts = parts
  }

  /** The turn has come to the state that ends it: nothing has an effect after that. */
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
        const { id: taskId, contextId } = this.task
        const value = { taskId, contextId, artifact, append, lastChunk, metadata: undefined }
        this.#emit({ payload: { $case: 'artifactUpdate', value } })
      },
    }
  }

  async saveFirst(trx: SealedTrx): Promise<void> {
    this.#stored = await storeFirst(trx, this.task, this.run, this.#parts.worker)
  }

  /** Tells that there is a new task. */
  announce(): void {
    this.#publish('submitted')
    const event: StreamResponse = { payload: { $case: 'task', value: this.task } }
    this.#parts.told(this.task, event, this.run.tenantId)
  }

  /** The next turn continues with the call that the mail asks for, and waits for nothing. */
  prepare({ sent, actor }: Mail): void {
    this.run = { ...this.run, ...sent?.run, waits: undefined, gateRequestId: undefined }
    this.#actor = actor
    if (sent === undefined) return
    const { id: taskId, contextId, history } = this.task
    const own = { ...sent.message, taskId, contextId }
    this.task = { ...this.task, history: withMessage(history, own) }
  }

  /** Begins a turn: its first state is stored in one transaction with what `claim` does. */
  begin({ state, more }: Opening, claim: Claim): void {
    this.#claim = claim
    this.status(state, more)
  }

  status(state: TaskState, { parts, reason, run, actor }: StatusMore = {}): void {
    if (this.#isOver || this.isLost) return
    const from = this.task.status?.state
    const { id: taskId, contextId } = this.task
    const { now } = this.#parts
    const message = parts && agentMessage(taskId, contextId, parts)
    const status = { state, message, timestamp: new Date(now()).toISOString() }
    this.run = { ...this.run, ...run }
    const change: Change = {
      at: now(),
      from_state: from === undefined ? null : stateName(from),
      to_state: stateName(state),
      actor: actor ?? this.#actor,
      reason: reason ?? null,
      gate_request_id: this.run.gateRequestId ?? null,
    }
    this.#actor = 'coordinator'
    const value = { taskId, contextId, status, metadata: undefined }
    const event: StreamResponse = { payload: { $case: 'statusUpdate', value } }
    this.#emit(event, from === state ? undefined : change)
    this.#isOver = isSettled(state)
  }

  abort(): void {
    this.#stop.abort(new ShoalError('client_closed', 'the task was cancelled'))
  }

  /** Stops the turn for the end of the process: a store that fails is not tried again. */
  close(): void {
    this.#isClosing = true
    this.abort()
  }

  /** Resolves when everything so far is stored and told. */
  async flushed(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing
  }

  /** Resolves as `flushed` does; rejects when a store fails, which is tried again all the same. */
  stored(): Promise<void> {
    return Promise.race([this.flushed(), this.#failure.promise])
  }

  #emit(event: StreamResponse, change?: Change): void {
    if (this.#isOver || this.isLost) return
    this.task = applied(this.task, event)
    this.#pending.push({ event, task: this.task, change })
    this.#writing ??= this.#write()
  }

  /** Ends in the step that finds nothing more; a later event starts it again. */
  async #write(): Promise<void> {
    const { failed, logger } = this.#parts
    while (this.#pending.length > 0) {
      try {
        const batch = await this.#store()
        this.#pending.splice(0, batch.length)
        for (const entry of batch) this.#tell(entry)
      } catch (error) {
        // that another process was first to read its mail is nothing to log
        if (!(error instanceof TaskElsewhere && this.#claim !== undefined))
          logger.warn({ err: error, task: this.task.id }, 'a task could not be stored')
        if (error instanceof TaskElsewhere) this.#giveUp()
        this.#fail(error)
        failed(this.task.id, error as Error)
        if (this.#isClosing || this.isLost) break
        await setTimeout(RETRY_MS, undefined, { ref: false })
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

  /** Leaves the task to the process that has taken it. */
  #giveUp(): void {
    this.#pending.length = 0
    this.isLost = true
    this.abort()
  }

  async #store(): Promise<Entry[]> {
    const { worker, hooks, ledger } = this.#parts
    const { batch, stored } = await ledger.sealed.write(async trx => {
      const batch = [...this.#pending]
      const { run } = this
      await this.#claim?.(trx)
      const known = this.#stored.last
      return { batch, stored: await storeBatch(trx, batch, { run, worker, hooks, known }) }
    })
    this.#claim = undefined
    this.#stored = stored
    hooks?.wake()
    return batch
  }

  #tell({ event, task, change }: Entry): void {
    this.toldTask = task
    if (change !== undefined) this.#publish(change.to_state, change)
    this.#parts.told(task, event, this.run.tenantId)
  }

  #publish(state: string, change?: Change): void {
    const { taskId, tenantId, operationId, keyId } = this.run
    this.#parts.publish(
      `shoal.task.${state}`,
      {
        tenant_id: tenantId,
        key_id: keyId ?? null,
        person_id: this.#stored.person ?? null,
        operation: operationId ?? null,
        from: change?.from_state ?? null,
        reason: change?.reason ?? null,
      },
      taskId,
    )
  }
}
