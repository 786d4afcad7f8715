import { setTimeout as wait } from 'node:timers/promises'
import type { Answerer } from '../../coordinator/calls/tasks/delivery.ts'
import { isFinal } from '../../coordinator/calls/tasks/task-state.ts'
import { createTasks, type Tasks } from '../../coordinator/calls/tasks/tasks.ts'
import { findBrokenTransition } from '../../coordinator/calls/tasks/transition.ts'
import type { Opening } from '../../coordinator/calls/tasks/turn.ts'
import { LEASE_MS } from '../../coordinator/kernel/leases/ownership.ts'
import { withChangeHook } from '../../coordinator/kernel/store/change-hook.ts'
import { openStore, type Store } from '../../coordinator/kernel/store/store.ts'
import { ShoalError } from '../../shared/errors.ts'
import { systemRuntime } from '../../shared/runtime.ts'
import {
  createSent,
  failed,
  HOME,
  newTask,
  requestInput,
} from '../coordinator/calls/tasks/fixtures.ts'
import { placeEmptyStore } from './empty-store.ts'
import { newOwnership } from './replicas.ts'

interface HistoryOptions {
  folder: string
  tasks: number
  /** Uniform from 0 to 1. */
  random: () => number
}

/** What was wrong; empty when every promise was kept. */
interface Judgement {
  faults: string[]
  kills: number
  messages: number
  cancellations: number
}

/** One process; the one that follows it has its store. */
interface Coordinator {
  tasks: Tasks
  store: Store
  /** Ends it at its next write, before or after the commit, without a word. */
  kill(): void
  isDead(): boolean
}

/** What the clients of all tasks know. */
interface Known {
  /** Messages that were accepted, by their ids. */
  accepted: Map<string, string>
  /** How often the work of a message was done. */
  done: Map<string, number>
  cancelled: Set<string>
  messages: number
}

/** Two coordinators at one time on one store. */
const AT_ONCE = 2
const CLIENTS = 8

/**
 * Clients begin tasks, answer their questions and cancel them at two coordinators, whose processes
 * are killed between any two writes and replaced; then everything is brought to rest and judged.
 */
export const runTaskHistories = async (options: HistoryOptions): Promise<Judgement> => {
  const histories = new TaskHistories(options)
  // the timers of a coordinator keep no process alive
  const alive = setInterval(() => {}, 1000)
  try {
    await histories.run()
    return await histories.judge()
  } finally {
    clearInterval(alive)
  }
}

class TaskHistories {
  readonly #options: HistoryOptions
  readonly #known: Known = {
    accepted: new Map(),
    done: new Map(),
    cancelled: new Set(),
    messages: 0,
  }
  readonly #taskIds: string[] = []
  readonly #all: Coordinator[] = []
  #alive: Coordinator[] = []
  #kills = 0
  #ahead = 0

  constructor(options: HistoryOptions) {
    this.#options = options
  }

  async run(): Promise<void> {
    const { folder } = this.#options
    const settings = { pollMilliseconds: 20, now: this.#now }
    placeEmptyStore(folder)
    for (let at = 0; at < AT_ONCE; at++)
      this.#alive.push(this.#open(await openStore(folder, settings)))
    let left = this.#options.tasks
    const client = async (): Promise<void> => {
      while (left-- > 0) await this.#oneTask()
    }
    const over = new AbortController()
    const chaos = this.#chaos(over.signal)
    await Promise.all(Array.from({ length: CLIENTS }, client))
    over.abort()
    await chaos
    await this.#settle()
  }

  async judge(): Promise<Judgement> {
    const { accepted, cancelled, messages } = this.#known
    const faults: string[] = []
    const { tasks, store } = this.#alive[0] as Coordinator
    const mail = await store.ledger.read.selectFrom('task_mail').selectAll().execute()
    for (const { task_id, kind } of mail) faults.push(`${kind} of ${task_id} was never read`)
    for (const taskId of this.#taskIds) faults.push(...(await this.#judgeTask(tasks, taskId)))
    for (const { tasks } of this.#all) await tasks.close()
    for (const { store } of this.#alive) await store.close()
    if (accepted.size === 0) faults.push('no message was accepted')
    return { faults, kills: this.#kills, messages, cancellations: cancelled.size }
  }

  async #judgeTask(tasks: Tasks, taskId: string): Promise<string[]> {
    const { accepted, done, cancelled } = this.#known
    const { status, history } = await tasks.get(taskId, HOME)
    const rows = await tasks.transitions(taskId)
    const state = rows.at(-1)?.toState
    const faults: string[] = []
    if (findBrokenTransition(rows) !== undefined) faults.push('its history is broken')
    const isAtRest = isFinal(status.state) || state === 'input-required'
    if (!isAtRest) faults.push(`it is stuck as ${state}`)
    if (cancelled.has(taskId) && state !== 'canceled') faults.push(`cancelled, and ${state}`)
    for (const [messageId, owner] of accepted)
      if (owner === taskId) {
        const times = done.get(messageId) ?? 0
        const isVoid = state === 'canceled' || state === 'failed'
        if (times > 1) faults.push(`${messageId} was done ${times} times`)
        if (times === 0 && !isVoid) faults.push(`${messageId} was lost`)
        const isKept = history.some(each => each.messageId === messageId)
        if (times === 1 && !isKept) faults.push(`${messageId} is not in the history`)
      }
    return faults.map(fault => `${taskId}: ${fault} (${rows.map(row => row.toState).join(' ')})`)
  }

  #now = (): number => Date.now() + this.#ahead

  #open(store: Store): Coordinator {
    const fate: { end?: 'before' | 'after' | 'dead' } = {}
    const ledger = withChangeHook(store.ledger, async (work, commit) => {
      const { end } = fate
      if (end !== undefined) fate.end = 'dead'
      if (end === 'before' || end === 'dead') throw new Error('the process is gone')
      const result = await commit(work)
      if (end === 'after') throw new Error('the process is gone')
      return result
    })
    const tasks = createTasks({
      ownership: newOwnership(ledger),
      store: { ledger, revisions: store.revisions },
      addEvents: async () => {},
      logger: { warn: () => {}, error: () => {} },
      now: this.#now,
      runtime: systemRuntime,
    })
    const isDead = (): boolean => fate.end !== undefined
    tasks.serve(this.#answers(isDead))
    const kill = (): void => {
      fate.end = this.#options.random() < 0.5 ? 'before' : 'after'
    }
    const opened = { tasks, store, kill, isDead }
    this.#all.push(opened)
    return opened
  }

  /** The turns that the store alone leads to. */
  #answers(isDead: () => boolean): Answerer {
    return async ({ mail, run }) => {
      if (mail.kind !== 'message') return failed
      const messageId = mail.body?.message.messageId as string
      return this.#turn(messageId, { ...run, ...mail.body?.run }.input, isDead)
    }
  }

  #turn(messageId: string, input: unknown, isDead: () => boolean): Opening {
    const { done } = this.#known
    return {
      state: 'working',
      work: async turn => {
        if (isDead() || turn.signal.aborted) return
        done.set(messageId, (done.get(messageId) ?? 0) + 1)
        await wait(this.#options.random() * 5)
        if ((input as { last: boolean }).last) turn.status('completed')
        else await requestInput(turn)
      },
    }
  }

  #pick(): Coordinator {
    const { random } = this.#options
    return this.#alive[Math.floor(random() * this.#alive.length)] as Coordinator
  }

  async #oneTask(): Promise<void> {
    const { random } = this.#options
    const taskId = await this.#begin()
    if (taskId === undefined) return
    this.#taskIds.push(taskId)
    const acts: Promise<void>[] = []
    for (let act = 0; act < 6; act++) {
      await wait(random() * 10)
      acts.push(random() < 0.12 ? this.#cancel(taskId) : this.#send(taskId))
    }
    await Promise.all(acts)
  }

  async #begin(): Promise<string | undefined> {
    try {
      const { taskId, start } = await this.#pick().tasks.begin(newTask(requestInput))
      await start()
      return taskId
    } catch {
      return undefined
    }
  }

  /** A client sends the same message again when it was not answered. */
  async #send(taskId: string): Promise<void> {
    const { random } = this.#options
    const { accepted } = this.#known
    const task = await this.#pick().tasks.get(taskId, HOME)
    const input = { last: random() < 0.3 }
    const { message, run, actor } = createSent(task, failed, input)
    for (let attempt = 0; attempt < 3; attempt++) {
      const { tasks, isDead } = this.#pick()
      try {
        const opening = this.#turn(message.messageId, input, isDead)
        const { start } = await tasks.send(task, 'home', { message, run, actor, opening })
        accepted.set(message.messageId, taskId)
        this.#known.messages++
        // a process may die between the two
        if (random() < 0.9) await start()
        return
      } catch (error) {
        if (error instanceof ShoalError) return
        await wait(5)
      }
    }
  }

  async #cancel(taskId: string): Promise<void> {
    const task = await this.#pick()
      .tasks.cancel(taskId, 'home', 'key:key')
      .catch(() => undefined)
    if (task?.status.state === 'canceled') this.#known.cancelled.add(taskId)
  }

  async #chaos(signal: AbortSignal): Promise<void> {
    const { random } = this.#options
    while (!signal.aborted) {
      await wait(random() * 60)
      const victim = this.#pick()
      victim.kill()
      this.#kills++
      this.#alive = this.#alive.filter(each => each !== victim)
      this.#alive.push(this.#open(victim.store))
      this.#ahead += LEASE_MS + 1
      await Promise.all(this.#alive.map(({ tasks }) => tasks.look().catch(() => {})))
    }
  }

  /** Tasks that run come to their end, and tasks that lost their owner are found. */
  async #settle(): Promise<void> {
    for (let round = 0; round < 4; round++) {
      await wait(50)
      this.#ahead += LEASE_MS + 1
      for (const { tasks } of this.#alive) await tasks.look()
    }
    const isAtWork = () =>
      this.#taskIds.some(id => this.#alive.some(({ tasks }) => tasks.isRunning(id)))
    while (isAtWork()) await wait(10)
  }
}
