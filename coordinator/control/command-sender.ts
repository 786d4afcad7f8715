import type { Logger } from 'pino'
import type { Signer } from '../../shared/signing.ts'
import type { Command } from '../../shared/wire/command.ts'
import type { Replicas } from '../replicas/replicas.ts'
import type { Ledger } from '../store/store.ts'
import { type CommandRecord, laneOf, maySend } from './command.ts'
import type { CommandAdmissionParts } from './command-admission.ts'
import { requireCapable, signForLevel } from './command-request.ts'
import { claimSending } from './command-store.ts'
import { LaneOrder } from './lane-order.ts'
import { isUrgent } from './urgent.ts'

const isActing = ({ hazard }: CommandRecord): boolean => hazard === 'caution' || hazard === 'unsafe'

export interface CommandSenderParts extends CommandAdmissionParts {
  ledger: Ledger
  signer: Signer
  replicas: Pick<Replicas, 'id'>
  /** True when the cell is connected; commands for a disconnected cell are sent once it connects. */
  isHere: (cellId: string) => boolean
  publish: (command: Command) => Promise<void>
  /** Adds a command that was committed to the open ones. */
  open: (record: CommandRecord) => void
  /** Applies the changes to a command and returns the updated record. */
  change: (record: CommandRecord, values: Partial<CommandRecord>) => CommandRecord
  /** Called when another coordinator has sent the command, or knows its end. */
  onOvertaken: (id: string) => void
  /** Unix milliseconds. */
  now: () => number
  logger: Logger
}

/**
 * Sends commands to their cells: those of a lane in the order of their fences, since a cell refuses
 * one that comes after a later one. What is urgent waits for none of them.
 */
export class CommandSender {
  readonly #parts: CommandSenderParts
  readonly #order = new LaneOrder()

  constructor(parts: CommandSenderParts) {
    this.#parts = parts
  }

  /** Sends the open commands of a cell that has connected, urgent ones first. */
  sendAll(records: readonly CommandRecord[]): void {
    const { verbs } = this.#parts
    for (const record of records.filter(one => isUrgent(one, verbs))) this.send(record)
    for (const record of records.filter(one => !isUrgent(one, verbs))) this.send(record)
  }

  /**
   * Sends a command once it is known to be stored; those after it in its lane wait for that.
   * `isStored` must not reject.
   */
  sendWhen(record: CommandRecord, isStored: Promise<boolean>): void {
    this.#order.run(laneOf(record), () => this.#sendStored(record, isStored))
  }

  /** Resolves when nothing is on its way any more. */
  waitForIdle(): Promise<void> {
    return this.#order.waitForIdle()
  }

  /** Sends a command now, or when those before it in its lane are out. */
  send(record: CommandRecord): void {
    const sent = this.#markSent(record)
    if (sent === undefined) return
    const lane = laneOf(sent)
    const isAtOnce = !this.#isClaimed(sent) && !this.#order.isBusy(lane)
    if (isAtOnce || isUrgent(sent, this.#parts.verbs)) void this.#publish(sent)
    else this.#order.run(lane, () => this.#publish(sent))
  }

  async #sendStored(record: CommandRecord, isStored: Promise<boolean>): Promise<void> {
    if (!(await isStored)) return
    this.#parts.open(record)
    const sent = this.#markSent(record)
    if (sent !== undefined) await this.#publish(sent)
  }

  /**
   * Marks a command as sent. Undefined if it must not be sent now; it is rejected if the cell's
   * capability level is too low by now.
   */
  #markSent(record: CommandRecord): CommandRecord | undefined {
    const { now, isHere, capability } = this.#parts
    if (!maySend(record, now()) || !isHere(record.cellId)) return undefined
    try {
      requireCapable(record.signed, capability(record.cellId))
    } catch (error) {
      const { message } = error as Error
      this.#parts.change(record, { state: 'rejected', reason: 'capability', message })
      return undefined
    }
    return this.#parts.change(record, { state: 'sent', sends: record.sends + 1 })
  }

  /**
   * True for a command whose sending is recorded on the disk before: one that acts, because it may
   * have been executed, and one that other coordinators may send as well.
   */
  #isClaimed(record: CommandRecord): boolean {
    return isActing(record) || record.holder !== this.#parts.replicas.id
  }

  async #publish(sent: CommandRecord): Promise<void> {
    const { ledger, signer, replicas, capability, publish, onOvertaken, logger } = this.#parts
    try {
      if (this.#isClaimed(sent) && !(await claimSending(ledger, sent, replicas.id)))
        return onOvertaken(sent.id)
      await publish(signForLevel(sent.signed, capability(sent.cellId), signer))
    } catch (error) {
      logger.warn({ command: sent.id, reason: (error as Error).message }, 'command not sent')
    }
  }
}
