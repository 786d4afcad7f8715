import type { Runtime } from '../../../shared/runtime.ts'
import type { Ownership } from '../../kernel/leases/ownership.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import { claimMessage } from './claim.ts'
import { type Answerer, claimFor, type Delivery, deriveOpening, requireSame } from './delivery.ts'
import { readMailed } from './due.ts'
import { LiveTask, type LiveTaskParts } from './live.ts'
import { TaskTakenError } from './live-store.ts'
import { dropOne, readMail } from './mailbox.ts'
import { firstTask, type NewTask } from './new-task.ts'
import { type Owning, TaskElsewhereError } from './take-task.ts'
import { readRun, readTask } from './task-rows.ts'
import type { Opening } from './turn.ts'
import { ignoreElsewhere, type TurnParts, Turns } from './turns.ts'

export interface StartedTask {
  taskId: string
  /** True when the same message was accepted before. */
  again: boolean
  /** Starts the turn, once. Never rejects: followers of the task receive the failure. */
  start: () => Promise<void>
}

type OwnerParts = Omit<TurnParts, 'worker' | 'onMail'> & {
  ownership: Ownership
  runtime: Pick<Runtime, 'setTimeout' | 'ids'>
}

/**
 * Opening for a message that this process has just posted; other processes derive it from the
 * store.
 */
interface KnownOpening {
  messageId: string
  opening: Opening
}

/**
 * Maximum delivery attempts when other processes intervene between reading mail and acting on it.
 */
const ATTEMPTS = 10

/**
 * The only writer of the tasks that this process owns. A task is owned while it runs, under the
 * lease of the process, and every store verifies the ownership. External changes arrive in the
 * task's mailbox; storing their effect removes them from it.
 */
export class TaskOwner {
  /** Id of this process. */
  readonly worker: string
  readonly turns: Turns
  readonly #parts: LiveTaskParts & Pick<OwnerParts, 'runtime'>
  readonly #owning: Owning
  #answer: Answerer = async () => undefined

  constructor(parts: OwnerParts) {
    const { ownership } = parts
    const worker = ownership.id
    this.worker = worker
    const onError: LiveTaskParts['onError'] = (taskId, error) =>
      error instanceof TaskElsewhereError ? parts.onLeft(taskId) : parts.onError(taskId, error)
    this.#parts = { ...parts, worker, onError }
    this.#owning = { ownership, nowMs: parts.ledger.nowMs }
    const onMail = (taskId: string): void => void this.tryToDeliver(taskId)
    this.turns = new Turns({ ...parts, worker, onError, onMail })
  }

  /** Sets the handler of mail; until then only cancellations take effect. */
  serve(answer: Answerer): void {
    this.#answer = answer
  }

  async begin(asked: NewTask): Promise<StartedTask> {
    const { now, runtime } = this.#parts
    this.turns.requireRoom(asked.run.tenantId)
    const { task, run } = firstTask(asked, { at: now(), ids: runtime.ids })
    const live = new LiveTask(task, run, this.#parts)
    this.turns.add(live)
    try {
      const before = await this.#parts.ledger.sealed.write(trx => this.#create(trx, live, asked))
      if (before !== undefined) {
        this.turns.leave(live)
        return this.resumeAccepted(before)
      }
    } catch (error) {
      this.turns.leave(live)
      throw error
    }
    live.announce()
    return { taskId: task.id, again: false, start: startOnce(this.turns, live, asked) }
  }

  /**
   * Result for a message that was accepted before; its delivery is retried, since an earlier
   * obstacle may be gone.
   */
  resumeAccepted(taskId: string): StartedTask {
    return { taskId, again: true, start: () => this.tryToDeliver(taskId) }
  }

  /**
   * Acts on the mail of a task, unless another process owns the task. Resolves when the effect is
   * stored; rejects when it cannot be stored now, in which case the mail stays.
   */
  async deliver(taskId: string, known?: KnownOpening, attempts = ATTEMPTS): Promise<void> {
    const delivery = this.turns.get(taskId) ? undefined : await this.#read(taskId)
    const opening = delivery && (await this.#deriveOpening(delivery, known))
    const live = this.turns.get(taskId)
    if (live !== undefined) return this.#deliverTo(live)
    if (delivery === undefined || this.turns.isClosing) return
    try {
      await (opening === undefined ? this.#dropVoid(delivery) : this.#open(delivery, opening))
    } catch (error) {
      if (!(error instanceof TaskElsewhereError)) throw error
      if (error instanceof TaskTakenError && attempts > 1)
        return this.deliver(taskId, known, attempts - 1)
    }
  }

  /** Delivers as `deliver` does, but reports a failure only to the task's followers. */
  async tryToDeliver(taskId: string, known?: KnownOpening): Promise<void> {
    await this.deliver(taskId, known).catch(error => this.#parts.onError(taskId, error))
  }

  /** Acts on mail that other processes have posted for tasks that run here. */
  async deliverPosted(): Promise<void> {
    if (this.turns.size === 0) return
    const { ledger, now } = this.#parts
    for (const taskId of await readMailed(ledger.read, { id: this.worker, now: now() })) {
      const live = this.turns.get(taskId)
      if (live !== undefined) await this.#deliverTo(live)
    }
  }

  /**
   * Stores a new task. Returns the id of the task that accepted the same message before; nothing is
   * stored then.
   */
  async #create(
    trx: SealedTrx,
    live: LiveTask,
    { message, run: { keyId }, prepare }: NewTask,
  ): Promise<string | undefined> {
    const { id } = live.task
    const taken = message && keyId && (await claimMessage(trx, keyId, message, id))
    if (taken) return taken
    await this.#owning.ownership.keep(trx)
    await live.saveFirst(trx)
    await prepare?.(id)
    return undefined
  }

  async #read(taskId: string): Promise<Delivery | undefined> {
    const { read } = this.#parts.ledger
    const [mail] = await readMail(read, taskId)
    if (mail === undefined) return undefined
    const task = await readTask(read, taskId, mail.tenantId)
    return { mail, task, run: await readRun(read, taskId) }
  }

  async #deriveOpening(delivery: Delivery, known?: KnownOpening): Promise<Opening | undefined> {
    const { mail } = delivery
    if (mail.kind !== 'cancel') this.turns.requireRoom(mail.tenantId)
    const isKnown = known !== undefined && mail.body?.message.messageId === known.messageId
    return deriveOpening(delivery, isKnown ? async () => known.opening : this.#answer)
  }

  async #open(delivery: Delivery, opening: Opening): Promise<void> {
    const { task, run, mail } = delivery
    const live = new LiveTask(task, run, this.#parts)
    this.turns.add(live)
    if (mail.kind !== 'cancel') live.prepare(mail)
    live.begin(opening, claimFor(delivery, this.#owning))
    void this.turns.perform(live, opening.work)
    try {
      await live.waitForStore()
    } catch (error) {
      if (live.isLost) this.turns.leave(live)
      throw error
    }
  }

  /**
   * Handles mail for a task with a turn in progress: a cancellation ends the turn, other mail waits
   * for its end.
   */
  async #deliverTo(live: LiveTask): Promise<void> {
    live.hasMail = true
    const [mail] = await readMail(this.#parts.ledger.read, live.task.id)
    if (mail?.kind === 'cancel') await ignoreElsewhere(this.turns.cancel(mail.taskId, mail.actor))
  }

  /** Removes mail that has no effect in the task's current state. */
  async #dropVoid({ mail, task }: Delivery): Promise<void> {
    await this.#parts.ledger.sealed.write(async trx => {
      await requireSame(trx, task, mail.tenantId)
      await dropOne(trx, mail)
    })
  }
}

const startOnce = (turns: Turns, live: LiveTask, { work }: NewTask): StartedTask['start'] => {
  let isStarted = false
  return async () => {
    if (isStarted) return
    isStarted = true
    void turns.perform(live, work)
  }
}
