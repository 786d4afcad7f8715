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
import type { CommandJournal } from './journal.ts'
import type { Entry } from './journal-line.ts'
import { type CommandOutcome, shorten } from './outcome.ts'
import type { JournalSubject } from './subject.ts'

export interface AcknowledgerParts {
  cellId: string
  /** Signing key of this cell. */
  signer: Signer
  journal: CommandJournal
  /** Unix milliseconds. */
  now: () => number
  /** Receives every state ack, after it is on disk. */
  acknowledge: (ack: Ack) => void
  /** Receives every progress ack; progress is never stored. */
  report: (ack: Ack) => void
  logger: Logger
}

/** Stores the states of commands on disk and then reports them to the coordinator. */
export class Acknowledger {
  readonly #parts: AcknowledgerParts
  /** Ids of commands whose outcome is not on disk yet, and therefore not reported. */
  readonly #unreported = new Set<string>()

  constructor(parts: AcknowledgerParts) {
    this.#parts = parts
  }

  /** Acks of the last hour, in case the coordinator missed some. */
  listRecentAcks(): Ack[] {
    const since = this.#parts.now() - MAX_TTL_SECONDS * 1000
    const entries = this.#parts.journal.listEntries()
    return entries
      .filter(({ id, at }) => at >= since && !this.#unreported.has(id))
      .map(({ ack }) => ack)
  }

  /** Repeats the ack of a command that was received again. */
  async repeat(entry: Entry): Promise<void> {
    const { state, reason, message } = entry.ack
    if (!this.#unreported.has(entry.id)) this.#parts.acknowledge(entry.ack)
    else await this.settle(entry, { state, ...(reason && { reason }), ...(message && { message }) })
  }

  /** Reports an outcome that is not stored. */
  reportUnstored(id: string, outcome: CommandOutcome): void {
    this.#parts.acknowledge(this.#signAck(id, outcome))
  }

  reportProgress(id: string, progress: CommandProgress): void {
    this.#parts.report(this.#signAck(id, { state: 'executing', progress }))
  }

  /** Stores a state and reports it; rejects when the write fails. */
  async store(subject: JournalSubject, state: AckState, command: Command): Promise<void> {
    const { journal, now, acknowledge } = this.#parts
    const ack = this.#signAck(subject.id, { state })
    await journal.write({ ...subject, command, at: now(), ack })
    acknowledge(ack)
  }

  /**
   * Stores and reports the outcome of a command. If the write fails, the outcome of a command that
   * never began is not reported: after a crash it might be accepted. A command that began is on
   * disk at least in that state.
   */
  async settle(subject: JournalSubject, outcome: CommandOutcome, hasBegun = false): Promise<void> {
    const { journal, now, logger, acknowledge } = this.#parts
    const { id, fence, device_id, used } = subject
    const ack = this.#signAck(id, outcome)
    try {
      const kept = { ...(device_id && { device_id }), ...(used && { used }) }
      await journal.write({ id, fence, ...kept, at: now(), ack })
      this.#unreported.delete(id)
    } catch (error) {
      logger.error({ command: id, reason: (error as Error).message }, 'cannot write the journal')
      if (!hasBegun) this.#unreported.add(id)
    }
    logger.info({ command: id, state: outcome.state, reason: outcome.reason }, 'command')
    if (!this.#unreported.has(id)) acknowledge(ack)
  }

  /** Settles a command that could not be stored before it began. */
  settleUnstored(subject: JournalSubject, error: Error): Promise<void> {
    const message = shorten(`the journal cannot be written: ${error.message}`)
    return this.settle(subject, { state: 'failed', reason: 'journal_failed', message })
  }

  #signAck(id: string, said: CommandOutcome & Pick<Ack, 'progress'>): Ack {
    const { cellId, signer, now } = this.#parts
    return signAck({ command_id: id, cell_id: cellId, at: now(), ...said }, signer)
  }
}
