import type { Logger } from 'pino'
import { Command, FINAL_STATES, isGenuineCommand, isHarmless } from '../../shared/wire/command.ts'
import { Acknowledger, type AcknowledgerParts } from './acknowledger.ts'
import { executeCommand } from './execute-command.ts'
import { deviceLaneOf } from './journal-line.ts'
import { CommandJudge, type JudgeParts } from './judge.ts'
import { DeviceLanes, type LaneJob } from './lanes.ts'
import {
  type CommandRefusal,
  shorten,
  toInterrupted,
  toInterruptedBy,
  toRecovered,
  toRejection,
} from './outcome.ts'
import { isRefusal } from './plan-command.ts'
import { type JournalSubject, toAcceptedSubject, toRefusedSubject } from './subject.ts'

interface ExecutorParts extends AcknowledgerParts, Omit<JudgeParts, 'openedAtMs'> {
  /** Aborts running commands. */
  signal: AbortSignal
  logger: Logger
}

/** A command that was admitted. */
interface AdmittedCommand {
  command: Command
  /** Facts that the journal stores about it. */
  subject: JournalSubject
  /** Time of arrival by the monotonic clock. */
  cameMs: number
  /** True once it is on disk as executing. */
  hasBegun: boolean
}

/**
 * Executes commands one at a time per device, and per cell. Each is on disk before it is acted on:
 * commands that act on the world run at most once, whatever crashes or repeats, and harmless ones
 * are repeated.
 */
export class CommandExecutor {
  readonly #parts: ExecutorParts
  readonly #acks: Acknowledger
  readonly #judge: CommandJudge
  readonly #lanes = new DeviceLanes()
  #admissions: Promise<void> = Promise.resolve()

  constructor(parts: ExecutorParts) {
    this.#parts = parts
    this.#acks = new Acknowledger(parts)
    this.#judge = new CommandJudge({ ...parts, openedAtMs: parts.nowMs() })
  }

  /**
   * Settles commands left by an earlier run of the daemon: acting ones that had begun are
   * `unknown`, after their devices were brought to rest; those that had not are `failed`, and
   * harmless ones are repeated.
   */
  async recover(): Promise<void> {
    const cameMs = this.#parts.nowMs()
    for (const { command, ack, ...subject } of this.#parts.journal.listEntries()) {
      if (FINAL_STATES.includes(ack.state)) continue
      if (command && isHarmless(command))
        this.#enqueue({ command, subject, cameMs, hasBegun: false })
      else if (ack.state === 'executing' && this.#canRecover(subject))
        this.#lanes.add(deviceLaneOf(subject), this.#createRecovery(subject))
      else await this.#acks.settle(subject, toInterrupted(ack.state))
    }
  }

  #canRecover({ moves = [] }: JournalSubject): boolean {
    return moves.length > 0 && this.#parts.devices?.recoverRest !== undefined
  }

  /** Brings the devices of a motion to rest that the end of the daemon interrupted, and settles it. */
  #createRecovery(subject: JournalSubject): LaneJob {
    const drop = () => this.#acks.settle(subject, toInterrupted('executing'), true)
    return {
      drop,
      run: async interrupted => {
        const { devices, signal: stop } = this.#parts
        const { moves = [] } = subject
        const ends = Promise.all(moves.map(async id => await devices?.recoverRest?.(id)))
        const over = AbortSignal.any([interrupted, stop])
        const outcomes = await Promise.race([ends, untilAborted(over)])
        // at the end of the daemon the next start goes on
        if (stop.aborted) return
        if (outcomes === undefined) await drop()
        else await this.#acks.settle(subject, toRecovered(outcomes), true)
      },
    }
  }

  listRecentAcks(): ReturnType<Acknowledger['listRecentAcks']> {
    return this.#acks.listRecentAcks()
  }

  /** Handles a body of the `cmd` topic. Resolves once it is accepted or refused; never rejects. */
  async receive(body: unknown): Promise<void> {
    const cameMs = this.#parts.nowMs()
    try {
      const command = this.#parseGenuine(body)
      if (command !== undefined) await this.#takeTurn(command, cameMs)
    } catch (error) {
      this.#noteFailure(error as Error)
    }
  }

  /** Ends the running commands of devices that an e-stop holds; waiting ones are refused in turn. */
  endStopped(): void {
    this.#lanes.stopRunning(lane => this.#parts.findStop?.(lane) !== undefined)
  }

  /** Resolves when nothing is being admitted or executed. */
  async waitUntilIdle(): Promise<void> {
    await this.#admissions
    await this.#lanes.waitUntilIdle()
  }

  /** Logs a command that cannot even be refused; it must not affect the others. */
  #noteFailure(error: Error): void {
    this.#parts.logger.error({ reason: shorten(error.message) }, 'command failed unexpectedly')
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
    if (command.fence <= journal.fenceOf(deviceLaneOf(command)))
      return this.#acks.reportUnstored(
        command.id,
        toRejection('stale_fence', 'a later command was received before'),
      )
    const planned = this.#judge.admit(command, cameMs)
    if (isRefusal(planned)) return this.#acks.settle(toRefusedSubject(command), planned)
    const full = this.#findOverload(command)
    if (full !== undefined) return this.#acks.settle(toRefusedSubject(command), full)
    await this.#accept(command, toAcceptedSubject(command, planned.part), cameMs)
  }

  /**
   * Parses a command. One that is not provably from the coordinator for this cell gets no answer.
   */
  #parseGenuine(body: unknown): Command | undefined {
    const { cellId, listTrustedKeys, logger } = this.#parts
    const parsed = Command.safeParse(body)
    const fault = parsed.success
      ? findFault(parsed.data, cellId, listTrustedKeys())
      : 'it is malformed'
    if (fault === undefined) return parsed.data
    logger.warn({ reason: fault }, 'command ignored')
    return undefined
  }

  #findOverload(command: Command): CommandRefusal | undefined {
    const kind = this.#kindOf(command)
    const lanes = this.#lanes
    const reason =
      kind === undefined ? lanes.findOverload(deviceLaneOf(command)) : lanes.findAsideOverload(kind)
    return reason === undefined ? undefined : toRejection('busy', reason)
  }

  /** Kind of a command that runs beside the lanes: dry runs, and urgent ones per device. */
  #kindOf(command: Command): string | undefined {
    if (command.mode === 'dry') return 'dry'
    return this.#judge.isUrgent(command) ? `urgent ${deviceLaneOf(command)}` : undefined
  }

  async #accept(command: Command, subject: JournalSubject, cameMs: number): Promise<void> {
    if (this.#judge.isUrgent(command)) {
      // a stop must not wait for the disk, nor be blocked by a full one
      this.#acks.store(subject, 'executing', command).catch(error => this.#noteFailure(error))
      return this.#enqueue({ command, subject, cameMs, hasBegun: true })
    }
    // a command that need not wait is stored as executing immediately
    const hasBegun = command.mode === 'dry' || this.#lanes.isIdle(deviceLaneOf(command))
    try {
      await this.#acks.store(subject, hasBegun ? 'executing' : 'accepted', command)
    } catch (error) {
      return this.#acks.settleUnstored(subject, error as Error)
    }
    if (this.#isOvertaken(command))
      return this.#acks.settle(subject, toInterruptedBy('overtaken', command, false))
    this.#enqueue({ command, subject, cameMs, hasBegun })
  }

  /** True when an urgent command of the same lane came while this one was put on the disk. */
  #isOvertaken(command: Command): boolean {
    return (
      command.mode === 'live' && this.#parts.journal.fenceOf(deviceLaneOf(command)) > command.fence
    )
  }

  #enqueue(taken: AdmittedCommand): void {
    const { command, subject } = taken
    const job: LaneJob = {
      run: interrupted =>
        this.#execute(taken, interrupted).catch(error => this.#noteFailure(error)),
      drop: () => this.#acks.settle(subject, toInterruptedBy('overtaken', command, false)),
    }
    const lane = deviceLaneOf(command)
    const kind = this.#kindOf(command)
    if (this.#judge.isUrgent(command)) this.#lanes.overtake(lane)
    if (kind === undefined) this.#lanes.add(lane, job)
    else this.#lanes.runAside(kind, job)
  }

  /** Checks plan and approval again: both may have changed while the command waited. */
  async #execute(taken: AdmittedCommand, interrupted: AbortSignal): Promise<void> {
    const { command, subject, cameMs, hasBegun } = taken
    const { signal: stop, nowMs } = this.#parts
    if (stop.aborted) return
    const planned = this.#judge.judge(command, cameMs)
    if (isRefusal(planned)) return this.#acks.settle(subject, planned, hasBegun)
    try {
      if (!hasBegun) await this.#acks.store(subject, 'executing', command)
    } catch (error) {
      return this.#acks.settleUnstored(subject, error as Error)
    }
    if (stop.aborted) return
    const outcome = await executeCommand(planned, command, {
      stop,
      interrupted,
      findRefusal: () => this.#judge.findRefusal(command, cameMs, planned),
      report: progress => this.#acks.reportProgress(command.id, progress),
      nowMs,
    })
    if (outcome !== undefined) await this.#acks.settle(subject, outcome, true)
  }
}

/** Resolves with undefined at the abort. */
const untilAborted = (signal: AbortSignal): Promise<undefined> =>
  new Promise(resolve => {
    if (signal.aborted) resolve(undefined)
    else signal.addEventListener('abort', () => resolve(undefined), { once: true })
  })

const findFault = (command: Command, cellId: string, trusted: readonly string[]) => {
  if (command.cell_id !== cellId) return 'it is for another cell'
  if (!trusted.includes(command.key_id)) return 'its key is not the coordinator’s'
  return isGenuineCommand(command, command.key_id) ? undefined : 'its signature is invalid'
}
