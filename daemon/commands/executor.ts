import type { Logger } from 'pino'
import { firstIssue } from '../../shared/first-issue.ts'
import type { Signer } from '../../shared/signing.ts'
import {
  type Ack,
  type AckState,
  Command,
  FINAL_STATES,
  isGenuineCommand,
  MAX_TTL_SECONDS,
  signAck,
} from '../../shared/wire/command.ts'
import { carryOut } from './carry-out.ts'
import type { CoordinatorClock } from './clock.ts'
import type { Entry, Journal } from './journal.ts'
import { untimely } from './judge.ts'
import { interrupted, type Outcome, type Refusal, rejected, short } from './outcome.ts'
import type { Verb } from './verb.ts'

export interface ExecutorParts {
  cellId: string
  /** This cell's own key. */
  signer: Signer
  /** Public keys of the coordinator that this cell has pinned. */
  trusted: () => readonly string[]
  verbs: readonly Verb[]
  journal: Journal
  clock: Pick<CoordinatorClock, 'bounds'>
  /** Unix milliseconds. */
  now: () => number
  /** Milliseconds of a clock that never goes back. */
  nowMs: () => number
  /** Called with every ack, after it is on the disk. */
  acknowledge: (ack: Ack) => void
  /** Stops what is running. */
  signal: AbortSignal
  logger: Logger
}

/** Commands that were accepted and wait for the one that runs. */
const MAX_WAITING = 100

/**
 * Carries out commands, one after another. Each is on the disk before it is acted on: what acts on
 * the world runs at most once whatever crashes or repeats, and what is harmless runs again.
 */
export class Executor {
  readonly #parts: ExecutorParts
  readonly #verbs: ReadonlyMap<string, Verb>
  readonly #openedAtMs: number
  #admissions: Promise<void> = Promise.resolve()
  #executions: Promise<unknown> = Promise.resolve()
  #waiting = 0
  /** Ids whose end is not on the disk: nobody is told before it is. */
  readonly #unsaid = new Set<string>()

  constructor(parts: ExecutorParts) {
    this.#parts = parts
    this.#verbs = new Map(parts.verbs.map(verb => [verb.verb, verb]))
    this.#openedAtMs = parts.nowMs()
  }

  /**
   * Takes up what an earlier life of the daemon left: what acts and had begun is `unknown`, what
   * had not is `failed`, and what is harmless is done again.
   */
  async recover(): Promise<void> {
    for (const entry of this.#parts.journal.entries()) {
      if (FINAL_STATES.includes(entry.ack.state)) continue
      if (entry.command && isHarmless(entry.command)) this.#enqueue(entry.command)
      else await this.#settle(entry, interrupted(entry.ack.state))
    }
  }

  /** The acks of the last hour, in case the coordinator missed some. */
  recentAcks(): Ack[] {
    const since = this.#parts.now() - MAX_TTL_SECONDS * 1000
    const entries = this.#parts.journal.entries()
    return entries
      .filter(({ id, at }) => at >= since && !this.#unsaid.has(id))
      .map(({ ack }) => ack)
  }

  /** One body of the `cmd` topic. Resolves when it was accepted or refused; never rejects. */
  receive(body: unknown): Promise<void> {
    const cameMs = this.#parts.nowMs()
    this.#admissions = this.#admissions
      .then(() => this.#admit(body, cameMs))
      .catch(error => this.#failed(error))
    return this.#admissions
  }

  /** What is so broken that it cannot even be refused must not end the others. */
  #failed(error: Error): void {
    this.#parts.logger.error({ reason: short(error.message) }, 'a command could not be handled')
  }

  /** Resolves when nothing is admitted or executed any more. */
  async idle(): Promise<void> {
    await this.#admissions
    await this.#executions
  }

  async #admit(body: unknown, cameMs: number): Promise<void> {
    const command = this.#genuine(body)
    if (command === undefined) return
    const known = this.#parts.journal.find(command.id)
    if (known !== undefined) return this.#repeat(known)
    if (command.fence <= this.#parts.journal.fence)
      return this.#parts.acknowledge(
        this.#ack(command.id, rejected('stale_fence', 'a later one came before')),
      )
    const refusal = this.#refusal(command, cameMs)
    if (refusal !== undefined) return this.#settle(entryOf(command), refusal)
    // what need not wait for another is on the disk as executing at once
    const begins = this.#waiting === 0
    if (await this.#keep(entryOf(command), begins ? 'executing' : 'accepted', command))
      this.#enqueue(command, cameMs, begins)
  }

  async #repeat(entry: Entry): Promise<void> {
    const { state, reason, message } = entry.ack
    if (!this.#unsaid.has(entry.id)) this.#parts.acknowledge(entry.ack)
    else
      await this.#settle(entry, { state, ...(reason && { reason }), ...(message && { message }) })
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

  #refusal(command: Command, cameMs: number): Refusal | undefined {
    const { verb: name, hazard, params } = command
    const verb = this.#verbs.get(name)
    if (verb === undefined) return rejected('unknown_verb', `this cell does not know ${name}`)
    if (verb.hazard !== hazard)
      return rejected('hazard_mismatch', `${name} is ${verb.hazard} on this cell, not ${hazard}`)
    const checked = verb.params.safeParse(params)
    if (!checked.success)
      return rejected('invalid_params', firstIssue(checked.error, params).message)
    if (this.#waiting >= MAX_WAITING) return rejected('busy', `${MAX_WAITING} commands wait`)
    if (this.#mayHaveForgotten() && !isHarmless(command))
      return rejected('journal_damaged', 'commands of the last hour may have been forgotten')
    return this.#untimely(command, cameMs)
  }

  #mayHaveForgotten(): boolean {
    const { journal, nowMs } = this.#parts
    return journal.damaged && nowMs() - this.#openedAtMs < MAX_TTL_SECONDS * 1000
  }

  #untimely(command: Command, cameMs: number): Refusal | undefined {
    const { now, nowMs, clock } = this.#parts
    const bounds = clock.bounds()
    return untimely(command, { now: now(), elapsedMs: nowMs() - cameMs, bounds })
  }

  #enqueue(command: Command, cameMs = this.#parts.nowMs(), begun = false): void {
    this.#waiting++
    this.#executions = this.#executions
      .then(() => this.#execute(command, cameMs, begun))
      .catch(error => this.#failed(error))
      .finally(() => this.#waiting--)
  }

  /** The last look at the clock is after the disk has answered, which may take its time. */
  async #execute(command: Command, cameMs: number, begun: boolean): Promise<void> {
    const { signal } = this.#parts
    const verb = this.#verbs.get(command.verb)
    if (signal.aborted) return
    if (verb === undefined) return this.#settle(entryOf(command), interrupted('accepted'))
    const early = begun ? undefined : this.#untimely(command, cameMs)
    if (early !== undefined) return this.#settle(entryOf(command), early)
    if (!begun && !(await this.#keep(entryOf(command), 'executing', command))) return
    if (signal.aborted) return
    const outcome = this.#untimely(command, cameMs) ?? (await carryOut(verb, command, signal))
    if (outcome !== undefined) await this.#settle(entryOf(command), outcome, true)
  }

  /** Puts a state on the disk and acknowledges it; without the disk nothing more is done. */
  async #keep(entry: Omit<Entry, 'ack' | 'at'>, state: AckState, command: Command) {
    const ack = this.#ack(entry.id, { state })
    try {
      await this.#parts.journal.write({ ...entry, command, at: this.#parts.now(), ack })
    } catch (error) {
      const message = short(`the journal cannot be written: ${(error as Error).message}`)
      await this.#settle(entry, { state: 'failed', reason: 'journal_failed', message })
      return false
    }
    this.#parts.acknowledge(ack)
    return true
  }

  /**
   * The end of a command. What was not begun and cannot be put on the disk is told to nobody: after
   * a crash it might be accepted. What was begun is known on the disk at least as that.
   */
  async #settle(
    { id, fence }: Omit<Entry, 'ack' | 'at'>,
    outcome: Outcome,
    begun = false,
  ): Promise<void> {
    const { journal, now, logger, acknowledge } = this.#parts
    const ack = this.#ack(id, outcome)
    try {
      await journal.write({ id, fence, at: now(), ack })
      this.#unsaid.delete(id)
    } catch (error) {
      logger.error({ command: id, reason: (error as Error).message }, 'journal not written')
      if (!begun) this.#unsaid.add(id)
    }
    logger.info({ command: id, state: outcome.state, reason: outcome.reason }, 'command')
    if (!this.#unsaid.has(id)) acknowledge(ack)
  }

  #ack(id: string, outcome: Outcome): Ack {
    const { cellId, signer, now } = this.#parts
    return signAck({ command_id: id, cell_id: cellId, at: now(), ...outcome }, signer)
  }
}

const faultOf = (command: Command, cellId: string, trusted: readonly string[]) => {
  if (command.cell_id !== cellId) return 'it is for another cell'
  if (!trusted.includes(command.key_id)) return 'its key is not the coordinator’s'
  return isGenuineCommand(command, command.key_id) ? undefined : 'its signature is wrong'
}

const isHarmless = ({ hazard, mode }: Command): boolean =>
  hazard === 'read' || hazard === 'safe' || mode === 'dry'

const entryOf = ({ id, fence }: Command): Omit<Entry, 'ack' | 'at'> => ({ id, fence })
