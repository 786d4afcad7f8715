import type { Logger } from 'pino'
import type { Signer } from '../../shared/signing.ts'
import {
  type Ack,
  type AckState,
  type Command,
  type CommandProgress,
  MAX_TTL_SECONDS,
  signAck,
} from '../../shared/wire/command.ts'
import type { Journal } from './journal.ts'
import type { Entry } from './journal-line.ts'
import { type Outcome, short } from './outcome.ts'
import type { Subject } from './subject.ts'

export interface AcknowledgerParts {
  cellId: string
  /** This cell's own key. */
  signer: Signer
  journal: Journal
  /** Unix milliseconds. */
  now: () => number
  /** Called with every ack of a state, after it is on the disk. */
  acknowledge: (ack: Ack) => void
  /** Called with every ack of progress, which is nowhere on the disk. */
  report: (ack: Ack) => void
  logger: Logger
}

/** Puts the states of commands on the disk, and says them to the coordinator after that. */
export class Acknowledger {
  readonly #parts: AcknowledgerParts
  /** Ids whose end is not on the disk: the coordinator learns it when it is. */
  readonly #unsaid = new Set<string>()

  constructor(parts: AcknowledgerParts) {
    this.#parts = parts
  }

  /** The acks of the last hour, in case the coordinator missed some. */
  recentAcks(): Ack[] {
    const since = this.#parts.now() - MAX_TTL_SECONDS * 1000
    const entries = this.#parts.journal.entries()
    return entries
      .filter(({ id, at }) => at >= since && !this.#unsaid.has(id))
      .map(({ ack }) => ack)
  }

  /** Says the same again for a command that came again. */
  async repeat(entry: Entry): Promise<void> {
    const { state, reason, message } = entry.ack
    if (!this.#unsaid.has(entry.id)) this.#parts.acknowledge(entry.ack)
    else await this.settle(entry, { state, ...(reason && { reason }), ...(message && { message }) })
  }

  /** Says what is kept nowhere. */
  tell(id: string, outcome: Outcome): void {
    this.#parts.acknowledge(this.#ack(id, outcome))
  }

  report(id: string, progress: CommandProgress): void {
    this.#parts.report(this.#ack(id, { state: 'executing', progress }))
  }

  /** Puts a state on the disk and says it; rejects when the disk does not take it. */
  async keep(subject: Subject, state: AckState, command: Command): Promise<void> {
    const { journal, now, acknowledge } = this.#parts
    const ack = this.#ack(subject.id, { state })
    await journal.write({ ...subject, command, at: now(), ack })
    acknowledge(ack)
  }

  /**
   * The end of a command. What was not begun and cannot be put on the disk is not said: after a
   * crash it might be accepted. What was begun is known on the disk at least as that.
   */
  async settle(subject: Subject, outcome: Outcome, hasBegun = false): Promise<void> {
    const { journal, now, logger, acknowledge } = this.#parts
    const { id, fence, device_id, used } = subject
    const ack = this.#ack(id, outcome)
    try {
      const kept = { ...(device_id && { device_id }), ...(used && { used }) }
      await journal.write({ id, fence, ...kept, at: now(), ack })
      this.#unsaid.delete(id)
    } catch (error) {
      logger.error({ command: id, reason: (error as Error).message }, 'journal not written')
      if (!hasBegun) this.#unsaid.add(id)
    }
    logger.info({ command: id, state: outcome.state, reason: outcome.reason }, 'command')
    if (!this.#unsaid.has(id)) acknowledge(ack)
  }

  /** The end of a command that could not be put on the disk before it began. */
  settleUnkept(subject: Subject, error: Error): Promise<void> {
    const message = short(`the journal cannot be written: ${error.message}`)
    return this.settle(subject, { state: 'failed', reason: 'journal_failed', message })
  }

  #ack(id: string, said: Outcome & Pick<Ack, 'progress'>): Ack {
    const { cellId, signer, now } = this.#parts
    return signAck({ command_id: id, cell_id: cellId, at: now(), ...said }, signer)
  }
}
