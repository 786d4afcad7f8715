import type { Logger } from 'pino'
import { Command, FINAL_STATES, isGenuineCommand, isHarmless } from '../../shared/wire/command.ts'
import { Acknowledger, type AcknowledgerParts } from './acknowledger.ts'
import { carryOut } from './carry-out.ts'
import { laneOf } from './journal-line.ts'
import { Judge, type JudgeParts } from './judge.ts'
import { type Job, Lanes } from './lanes.ts'
import { interrupted, overtakenOutcome, type Refusal, rejected, short } from './outcome.ts'
import { isRefusal } from './plan-command.ts'
import { acceptedOf, refusedOf, type Subject } from './subject.ts'

export interface ExecutorParts extends AcknowledgerParts, Omit<JudgeParts, 'openedAtMs'> {
  /** Stops what is running. */
  signal: AbortSignal
  logger: Logger
}

/** A command that was taken, and when it came. */
interface Taken {
  command: Command
  /** What the journal keeps of it. */
  subject: Subject
  /** By the clock that never goes back. */
  cameMs: number
  /** It is on the disk as executing. */
  hasBegun: boolean
}

/**
 * Carries out commands, one after another for each device and for the cell itself. Each is on the
 * disk before it is acted on: what acts on the world runs at most once whatever crashes or repeats,
 * and what is harmless runs again.
 */
export class Executor {
  readonly #parts: ExecutorParts
  readonly #acks: Acknowledger
  readonly #judge: Judge
  readonly #lanes = new Lanes()
  #admissions: Promise<void> = Promise.resolve()

  constructor(parts: ExecutorParts) {
    this.#parts = parts
    this.#acks = new Acknowledger(parts)
    this.#judge = new Judge({ ...parts, openedAtMs: parts.nowMs() })
  }

  /**
   * Takes up what an earlier life of the daemon left: what acts and had begun is `unknown`, what
   * had not is `failed`, and what is harmless is done again.
   */
  async recover(): Promise<void> {
    const cameMs = this.#parts.nowMs()
    for (const { command, ack, ...subject } of this.#parts.journal.entries()) {
      if (FINAL_STATES.includes(ack.state)) continue
      if (command && isHarmless(command))
        this.#enqueue({ command, subject, cameMs, hasBegun: false })
      else await this.#acks.settle(subject, interrupted(ack.state))
    }
  }

  recentAcks(): ReturnType<Acknowledger['recentAcks']> {
    return this.#acks.recentAcks()
  }

  /** One body of the `cmd` topic. Resolves when it was accepted or refused; never rejects. */
  async receive(body: unknown): Promise<void> {
    const cameMs = this.#parts.nowMs()
    try {
      const command = this.#genuine(body)
      if (command !== undefined) await this.#takeTurn(command, cameMs)
    } catch (error) {
      this.#noteFailure(error as Error)
    }
  }

  /** Resolves when nothing is admitted or executed any more. */
  async idle(): Promise<void> {
    await this.#admissions
    await this.#lanes.idle()
  }

  /** What is so broken that it cannot even be refused must not end the others. */
  #noteFailure(error: Error): void {
    this.#parts.logger.error({ reason: short(error.message) }, 'a command could not be handled')
  }

  /** Admissions follow one another, each behind the disk; an urgent command waits for none of them. */
  #takeTurn(command: Command, cameMs: number): Promise<void> {
    const before = this.#admissions
    const admit = (): Promise<void> => this.#admit(command, cameMs)
    const admitted = this.#judge.isUrgent(command) ? admit() : before.then(admit)
    // without its values, which would hold those of every admission before
    this.#admissions = Promise.allSettled([before, admitted]).then(() => {})
    return admitted
  }

  async #admit(command: Command, cameMs: number): Promise<void> {
    const { journal } = this.#parts
    const known = journal.find(command.id)
    if (known !== undefined) return this.#acks.repeat(known)
    if (command.fence <= journal.fenceOf(laneOf(command)))
      return this.#acks.tell(command.id, rejected('stale_fence', 'a later one came before'))
    const planned = this.#judge.admit(command, cameMs)
    if (isRefusal(planned)) return this.#acks.settle(refusedOf(command), planned)
    const full = this.#fullness(command)
    if (full !== undefined) return this.#acks.settle(refusedOf(command), full)
    await this.#accept(command, acceptedOf(command, planned.part), cameMs)
  }

  /** What does not prove that the coordinator sent it to this cell gets no answer at all. */
  #genuine(body: unknown): Command | undefined {
    const { cellId, trusted, logger } = this.#parts
    const parsed = Command.safeParse(body)
    const fault = parsed.success ? faultOf(parsed.data, cellId, trusted()) : 'it is malformed'
    if (fault === undefined) return parsed.data
    logger.warn({ reason: fault }, 'a command was ignored')
    return undefined
  }

  #fullness(command: Command): Refusal | undefined {
    const kind = this.#kindOf(command)
    const lanes = this.#lanes
    const reason = kind === undefined ? lanes.fullness(laneOf(command)) : lanes.asideFullness(kind)
    return reason === undefined ? undefined : rejected('busy', reason)
  }

  /** What runs beside the lanes: dry runs, and what is urgent for each device. */
  #kindOf(command: Command): string | undefined {
    if (command.mode === 'dry') return 'dry'
    return this.#judge.isUrgent(command) ? `urgent ${laneOf(command)}` : undefined
  }

  async #accept(command: Command, subject: Subject, cameMs: number): Promise<void> {
    if (this.#judge.isUrgent(command)) {
      // a stop does not wait for the disk, and a disk that is full does not keep it back
      this.#acks.keep(subject, 'executing', command).catch(error => this.#noteFailure(error))
      return this.#enqueue({ command, subject, cameMs, hasBegun: true })
    }
    // what need not wait for another is on the disk as executing at once
    const hasBegun = command.mode === 'dry' || this.#lanes.isIdle(laneOf(command))
    try {
      await this.#acks.keep(subject, hasBegun ? 'executing' : 'accepted', command)
    } catch (error) {
      return this.#acks.settleUnkept(subject, error as Error)
    }
    if (this.#isOvertaken(command))
      return this.#acks.settle(subject, overtakenOutcome(command, false))
    this.#enqueue({ command, subject, cameMs, hasBegun })
  }

  /** True when an urgent command of the same lane came while this one was put on the disk. */
  #isOvertaken(command: Command): boolean {
    return command.mode === 'live' && this.#parts.journal.fenceOf(laneOf(command)) > command.fence
  }

  #enqueue(taken: Taken): void {
    const { command, subject } = taken
    const job: Job = {
      run: overtaken => this.#execute(taken, overtaken).catch(error => this.#noteFailure(error)),
      drop: () => this.#acks.settle(subject, overtakenOutcome(command, false)),
    }
    const lane = laneOf(command)
    const kind = this.#kindOf(command)
    if (this.#judge.isUrgent(command)) this.#lanes.overtake(lane)
    if (kind === undefined) this.#lanes.add(lane, job)
    else this.#lanes.runAside(kind, job)
  }

  /** The plan and the approval are looked at again: much may have changed while it waited. */
  async #execute(taken: Taken, overtaken: AbortSignal): Promise<void> {
    const { command, subject, cameMs, hasBegun } = taken
    const { signal: stop, nowMs } = this.#parts
    if (stop.aborted) return
    const planned = this.#judge.judge(command, cameMs)
    if (isRefusal(planned)) return this.#acks.settle(subject, planned, hasBegun)
    try {
      if (!hasBegun) await this.#acks.keep(subject, 'executing', command)
    } catch (error) {
      return this.#acks.settleUnkept(subject, error as Error)
    }
    if (stop.aborted) return
    const outcome = await carryOut(planned, command, {
      stop,
      overtaken,
      refusal: () => this.#judge.refusalNow(command, cameMs, planned.part),
      report: progress => this.#acks.report(command.id, progress),
      nowMs,
    })
    if (outcome !== undefined) await this.#acks.settle(subject, outcome, true)
  }
}

const faultOf = (command: Command, cellId: string, trusted: readonly string[]) => {
  if (command.cell_id !== cellId) return 'it is for another cell'
  if (!trusted.includes(command.key_id)) return 'its key is not the coordinator’s'
  return isGenuineCommand(command, command.key_id) ? undefined : 'its signature is wrong'
}
