import { setTimeout } from 'node:timers/promises'
import type { StreamResponse, Task } from '@a2a-js/sdk'
import type { Logger } from 'pino'
import { ShoalError } from '../../shared/errors.ts'
import { appendAudit } from '../audit/audit.ts'
import type { Events } from '../events/bus.ts'
import { bumpRevision } from '../store/revisions.ts'
import type { Ledger, SealedTrx } from '../store/store.ts'
import type { TaskTransitionRow } from '../store/task-tables.ts'
import { applied } from './apply.ts'
import { TaskElsewhere } from './lease.ts'
import { agentMessage } from './parts.ts'
import type { TaskChange, TaskHooks } from './task-hooks.ts'
import { addRun, personOf, saveRun, saveTask } from './task-rows.ts'
import type { TaskRun } from './task-run.ts'
import { isFinal, isSettled, stateName, type TaskState } from './task-state.ts'
import { FIRST, sealed, type Unsealed } from './transition.ts'
import { lastTransition } from './transition-rows.ts'
import type { StatusMore, Turn } from './turn.ts'

type Trx = SealedTrx
type Change = Omit<Unsealed, 'task_id' | 'seq'>

export interface LiveParts {
  ledger: Ledger
  /** Which process runs it. */
  worker: string
  publish: Events['publish']
  hooks: TaskHooks | undefined
  /** After it was stored. */
  told: (task: Task, event: StreamResponse, tenantId: string) => void
  /** It cannot be stored now, which is tried again unless it `isLost`; nobody should wait for it. */
  failed: (taskId: string, error: Error) => void
  logger: Pick<Logger, 'warn'>
  now: () => number
}

interface Entry extends TaskChange {
  change: Change | undefined
}

const RETRY_MS = 1000

/** This process was not heard of for too long, and another one has gone on with the task. */
class TaskTaken extends TaskElsewhere {}

/**
 * A task while a turn of it runs. Events change the copy here at once; they are stored in order,
 * those that came meanwhile together, and told after that.
 */
export class Live {
  task: Task
  run: TaskRun
  /** As it was told last. */
  toldTask: Task
  /** Another process has taken it. */
  isLost = false
  readonly #parts: LiveParts
  readonly #stop = new AbortController()
  readonly #pending: Entry[] = []
  #writing: Promise<void> | undefined
  #actor = 'coordinator'
  #isClosing = false
  /** Of the next attempt to store something that fails. */
  #failure = Promise.withResolvers<never>()
  /** Nobody is at work on it, as it was stored last. */
  #isFree = false
  /** The newest row of its history; undefined until it is known. */
  #last: TaskTransitionRow | undefined
  /** Whose key asks for it. */
  #person: string | undefined

  constructor(task: Task, run: TaskRun, parts: LiveParts) {
    this.task = task
    this.toldTask = task
    this.run = run
    this.#parts = parts
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
        if (isFinal(this.task.status?.state) || this.isLost) return
        const { id: taskId, contextId } = this.task
        const value = { taskId, contextId, artifact, append, lastChunk, metadata: undefined }
        this.#emit({ payload: { $case: 'artifactUpdate', value } })
      },
    }
  }

  /** A new task, with the row of the state in which it begins. */
  async saveFirst(trx: Trx): Promise<void> {
    await saveTask(trx, this.task, this.run.tenantId)
    await addRun(trx, this.run, this.#parts.worker)
    this.#person = await personOf(trx, this.run)
    this.#last = await addTransition(trx, this.run, undefined, {
      at: this.run.createdAt,
      from_state: null,
      to_state: 'submitted',
      actor: actorOf(this.run),
      reason: null,
      gate_request_id: null,
    })
  }

  /** Tells that there is a new task. */
  announce(): void {
    this.#publish('submitted')
    const event: StreamResponse = { payload: { $case: 'task', value: this.task } }
    this.#parts.told(this.task, event, this.run.tenantId)
  }

  /** What the next turn is about, and who began it. */
  prepare(run: StatusMore['run'], actor = 'coordinator'): void {
    this.run = { ...this.run, ...run }
    this.#actor = actor
  }

  /** Nothing has an effect after an end. */
  status(state: TaskState, { parts, reason, run, actor }: StatusMore = {}): void {
    const from = this.task.status?.state
    if (isFinal(from) || this.isLost) return
    const { id: taskId, contextId } = this.task
    const { now } = this.#parts
    const message = parts && agentMessage(taskId, contextId, parts)
    const status = { state, message, timestamp: new Date(now()).toISOString() }
    this.run = { ...this.run, ...run }
    const change: Change | undefined =
      from === state
        ? undefined
        : {
            at: now(),
            from_state: from === undefined ? null : stateName(from),
            to_state: stateName(state),
            actor: actor ?? this.#actor,
            reason: reason ?? null,
            gate_request_id: this.run.gateRequestId ?? null,
          }
    this.#actor = 'coordinator'
    const value = { taskId, contextId, status, metadata: undefined }
    this.#emit({ payload: { $case: 'statusUpdate', value } }, change)
  }

  isSettled(): boolean {
    return isSettled(this.task.status?.state)
  }

  abort(): void {
    this.#stop.abort(new ShoalError('client_closed', 'the task was cancelled'))
  }

  /** What cannot be stored is not tried again: the process ends. */
  close(): void {
    this.#isClosing = true
    this.abort()
  }

  /** Resolves when everything so far is stored and told. */
  async flushed(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing
  }

  /** The same; rejects when something of it could not be stored, which is tried again all the same. */
  stored(): Promise<void> {
    return Promise.race([this.flushed(), this.#failure.promise])
  }

  #emit(event: StreamResponse, change?: Change): void {
    this.task = applied(this.task, event)
    this.#pending.push({ event, task: this.task, change })
    this.#writing ??= this.#write()
  }

  /** It ends in the step that finds nothing more: what comes after that begins it anew. */
  async #write(): Promise<void> {
    const { failed, logger } = this.#parts
    while (this.#pending.length > 0) {
      try {
        const batch = await this.#store()
        this.#pending.splice(0, batch.length)
        for (const entry of batch) this.#tell(entry)
      } catch (error) {
        logger.warn({ err: error, task: this.task.id }, 'a task could not be stored')
        this.#fail(error)
        if (error instanceof TaskTaken) this.#giveUp()
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

  /** What happens to it now is the other process's to tell. */
  #giveUp(): void {
    this.#pending.length = 0
    this.isLost = true
    this.abort()
  }

  async #store(): Promise<Entry[]> {
    const { worker, hooks } = this.#parts
    const { batch, last, lets, person } = await this.#parts.ledger.sealed.write(async trx => {
      const batch = [...this.#pending]
      const { run } = this
      let last = this.#last ?? (await lastTransition(trx, run.taskId))
      const task = batch.at(-1)?.task ?? this.task
      const lets = isSettled(task.status?.state)
      if (!(await saveRun(trx, run, { worker, isFree: this.#isFree, lets })))
        throw new TaskTaken(run.taskId)
      await saveTask(trx, task, run.tenantId)
      for (const { change } of batch)
        if (change !== undefined) last = await addTransition(trx, run, last, change)
      await hooks?.put(trx, batch, run)
      await bumpRevision(trx, 'tasks')
      return { batch, last, lets, person: await personOf(trx, run) }
    })
    this.#person = person
    this.#last = last
    this.#isFree = lets
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
        person_id: this.#person ?? null,
        operation: operationId ?? null,
        from: change?.from_state ?? null,
        reason: change?.reason ?? null,
      },
      taskId,
    )
  }
}

const actorOf = ({ keyId }: TaskRun): string => (keyId === undefined ? 'anonymous' : `key:${keyId}`)

/** What of a task with effects stands in the audit beside its own history. */
const AUDITED = ['auth-required', 'completed', 'failed', 'canceled', 'rejected']

/** The next link of the task's own chain; the audit holds on to it where the task has effects. */
const addTransition = async (
  trx: Trx,
  run: TaskRun,
  last: TaskTransitionRow | undefined,
  change: Change,
): Promise<TaskTransitionRow> => {
  const row = sealed(
    { task_id: run.taskId, seq: (last?.seq ?? 0) + 1, ...change },
    last?.hash ?? FIRST,
  )
  await trx.insertInto('task_transitions').values(row).execute()
  if (!run.audited || !AUDITED.includes(change.to_state)) return row
  await appendAudit(trx, {
    actor: change.actor === 'coordinator' ? actorOf(run) : change.actor,
    requestId: run.requestId,
    at: change.at,
    tenant: run.tenantId,
    action: `task.${change.to_state}`,
    subject: run.taskId,
    outcome: change.to_state === 'rejected' ? 'refused' : 'done',
    details: {
      operation: run.operationId ?? null,
      transitions: row.seq,
      head: row.hash,
      ...(change.reason === null ? {} : { reason: change.reason }),
    },
  })
  return row
}
