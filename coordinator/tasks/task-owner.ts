import { newId } from '../../shared/ids.ts'
import type { SealedTrx } from '../store/store.ts'
import { claimMessage } from './claim.ts'
import { type Answerer, claimFor, type Delivery, deriveOpening, requireSame } from './delivery.ts'
import { readMailed } from './due.ts'
import { createLease, type Lease, TaskElsewhere } from './lease.ts'
import { Live, type LiveParts } from './live.ts'
import { TaskTaken } from './live-store.ts'
import { dropOne, readMail } from './mailbox.ts'
import { firstTask, type NewTask } from './new-task.ts'
import { readRun, readTask } from './task-rows.ts'
import type { Opening } from './turn.ts'
import { type TurnParts, Turns, unlessElsewhere } from './turns.ts'

export interface Begun {
  taskId: string
  /** True when the same message had begun it before. */
  again: boolean
  /** Lets the turn begin, once. Never rejects: who follows the task hears of a failure. */
  start: () => Promise<void>
}

export type OwnerParts = Omit<TurnParts, 'worker' | 'lease' | 'mailed'>

/** The opening for a message that this process has just posted; others derive it from the store. */
export interface KnownOpening {
  messageId: string
  opening: Opening
}

/** How often other processes may come between reading mail and acting on it. */
const ATTEMPTS = 10

/**
 * The one writer of the tasks that this process owns. A task is owned while it is at work, by the
 * lease of the process, and every store of it checks that it still is. Everything that happens to
 * it from outside comes from its mailbox, and is removed there by the store of its effect.
 */
export class TaskOwner {
  /** Which process this is. */
  readonly worker = newId('worker')
  readonly turns: Turns
  readonly #parts: LiveParts
  readonly #lease: Lease
  #answer: Answerer = async () => undefined

  constructor(parts: OwnerParts) {
    const { worker } = this
    const failed: LiveParts['failed'] = (taskId, error) =>
      error instanceof TaskElsewhere ? parts.left(taskId) : parts.failed(taskId, error)
    this.#parts = { ...parts, worker, failed }
    this.#lease = createLease({ worker, nowMs: parts.ledger.nowMs })
    const mailed = (taskId: string): void => void this.tryToDeliver(taskId)
    this.turns = new Turns({ ...parts, worker, failed, lease: this.#lease, mailed })
  }

  /** Sets what mail begins; until then only cancellations have an effect. */
  serve(answer: Answerer): void {
    this.#answer = answer
  }

  async begin(asked: NewTask): Promise<Begun> {
    this.turns.requireRoom(asked.run.tenantId)
    const { task, run } = firstTask(asked, this.#parts.now())
    const live = new Live(task, run, this.#parts)
    this.turns.add(live)
    try {
      const before = await this.#parts.ledger.sealed.write(trx => this.#create(trx, live, asked))
      if (before !== undefined) {
        this.turns.leave(live)
        return this.begunBefore(before)
      }
    } catch (error) {
      this.turns.leave(live)
      throw error
    }
    live.announce()
    return { taskId: task.id, again: false, start: startOnce(this.turns, live, asked) }
  }

  /** A message that a task has taken before: what has kept it from being acted on may be over. */
  begunBefore(taskId: string): Begun {
    return { taskId, again: true, start: () => this.tryToDeliver(taskId) }
  }

  /**
   * Acts on the mail of a task; mail of a task that another process owns is left to that process.
   * Resolves when the effect is stored, and rejects when it cannot be stored now: the mail stays.
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
      if (!(error instanceof TaskElsewhere)) throw error
      if (error instanceof TaskTaken && attempts > 1)
        return this.deliver(taskId, known, attempts - 1)
    }
  }

  /** The same, where nobody waits for it but who follows the task. */
  async tryToDeliver(taskId: string, known?: KnownOpening): Promise<void> {
    await this.deliver(taskId, known).catch(error => this.#parts.failed(taskId, error))
  }

  /** Acts on mail that other processes have posted for the tasks that run here. */
  async heed(): Promise<void> {
    if (this.turns.size === 0) return
    const { ledger, now } = this.#parts
    for (const taskId of await readMailed(ledger.read, { worker: this.worker, now: now() })) {
      const live = this.turns.get(taskId)
      if (live !== undefined) await this.#deliverTo(live)
    }
  }

  /** Answers the task that took the same message before: then nothing is stored. */
  async #create(
    trx: SealedTrx,
    live: Live,
    { message, run: { keyId }, prepare }: NewTask,
  ): Promise<string | undefined> {
    const { id } = live.task
    const taken = message && keyId && (await claimMessage(trx, keyId, message, id))
    if (taken) return taken
    await this.#lease.keep(trx)
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
    const isKnown = known !== undefined && mail.sent?.message.messageId === known.messageId
    return deriveOpening(delivery, isKnown ? async () => known.opening : this.#answer)
  }

  async #open(delivery: Delivery, opening: Opening): Promise<void> {
    const { task, run, mail } = delivery
    const live = new Live(task, run, this.#parts)
    this.turns.add(live)
    if (mail.kind !== 'cancel') live.prepare(mail)
    live.begin(opening, claimFor(delivery, this.#lease))
    void this.turns.perform(live, opening.work)
    try {
      await live.stored()
    } catch (error) {
      if (live.isLost) this.turns.leave(live)
      throw error
    }
  }

  /** A turn of the task runs here: a cancellation ends it, other mail is for after it. */
  async #deliverTo(live: Live): Promise<void> {
    live.hasMail = true
    const [mail] = await readMail(this.#parts.ledger.read, live.task.id)
    if (mail?.kind === 'cancel') await unlessElsewhere(this.turns.cancel(mail.taskId, mail.actor))
  }

  /** Removes mail that has nothing to say to the task as it is. */
  async #dropVoid({ mail, task }: Delivery): Promise<void> {
    await this.#parts.ledger.sealed.write(async trx => {
      await requireSame(trx, task, mail.tenantId)
      await dropOne(trx, mail)
    })
  }
}

const startOnce = (turns: Turns, live: Live, { work }: NewTask): Begun['start'] => {
  let isStarted = false
  return async () => {
    if (isStarted) return
    isStarted = true
    void turns.perform(live, work)
  }
}
