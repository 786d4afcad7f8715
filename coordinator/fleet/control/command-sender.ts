import type { Logger } from 'pino'
import type { Signer } from '../../../shared/signing.ts'
import type { Command } from '../../../shared/wire/command.ts'
import type { Replicas } from '../../kernel/replicas/replicas.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import { type CommandRecord, laneOf, maySend } from './command.ts'
import type { CommandAdmissionParts } from './command-admission.ts'
import { requireCapable, signForLevel } from './command-request.ts'
import { claimSending } from './command-store.ts'
import { LaneOrder } from './lane-order.ts'
import type { Retries } from './retries.ts'
import { isUrgent } from './urgent.ts'

const isActing = ({ hazard }: CommandRecord): boolean => hazard === 'caution' || hazard === 'unsafe'

export interface CommandSenderParts extends CommandAdmissionParts {
  ledger: Ledger
  signer: Signer
  replicas: Pick<Replicas, 'id'>
  /** True when the cell is connected; commands for a disconnected cell are sent once it connects. */
  isHere: (cellId: string) => boolean
  publish: (command: Command) => Promise<void>
  /** Returns an open command as this process knows it. */
  find: (id: string) => CommandRecord | undefined
  /** Keeps an open command in memory, without writing it. */
  open: (record: CommandRecord) => void
  /** Applies the changes to a command and returns the updated record. */
  change: (record: CommandRecord, values: Partial<CommandRecord>) => CommandRecord
  /** Runs when another coordinator has sent the command, or knows its outcome. */
  onOvertaken: (id: string) => void
  retries: Retries
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

  /**
   * Sends a command that has just been stored, unless a look at the store has found it earlier. One
   * that must wait for its turn holds up those after it in its lane.
   */
  sendNew(record: CommandRecord, waitForTurn?: () => Promise<void>): void {
    if (!this.#openNew(record)) return
    if (waitForTurn === undefined) this.send(record)
    else this.#order.run(laneOf(record), () => this.#sendInTurn(record.id, waitForTurn))
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
    if (!(await isStored) || !this.#openNew(record)) return
    const sent = this.#markSent(record)
    if (sent !== undefined) await this.#publish(sent)
  }

  async #sendInTurn(id: string, waitForTurn: () => Promise<void>): Promise<void> {
    await waitForTurn()
    const record = this.#parts.find(id)
    // its cell has connected again meanwhile, and was sent it then
    if (record?.state !== 'queued') return
    const sent = this.#markSent(record)
    if (sent !== undefined) await this.#publish(sent)
  }

  #openNew(record: CommandRecord): boolean {
    const isNew = this.#parts.find(record.id) === undefined
    if (isNew) this.#parts.open(record)
    return isNew
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
    const values = { state: 'sent' as const, sends: record.sends + 1 }
    if (!this.#isClaimed(record)) return this.#parts.change(record, values)
    // the claim writes it: a record that it is sent must not come before the claim
    const sent = { ...record, ...values, updatedAt: now() }
    this.#parts.open(sent)
    return sent
  }

  /**
   * True for a command whose sending is recorded on the disk before: one that acts, because it may
   * have been executed, and one that other coordinators may send as well.
   */
  #isClaimed(record: CommandRecord): boolean {
    return isActing(record) || record.holder !== this.#parts.replicas.id
  }

  async #publish(sent: CommandRecord): Promise<void> {
    const { signer, capability, publish, onOvertaken, logger } = this.#parts
    try {
      if (this.#isClaimed(sent) && !(await this.#claim(sent))) return onOvertaken(sent.id)
      await publish(signForLevel(sent.signed, capability(sent.cellId), signer))
    } catch (error) {
      logger.warn({ command: sent.id, reason: (error as Error).message }, 'command not sent')
    }
  }

  /**
   * Claims a sending, again and again while the store fails and the cell is here. False when the
   * command is not to be sent from here any more.
   */
  async #claim(sent: CommandRecord): Promise<boolean> {
    const { ledger, replicas, isHere, find, retries, logger } = this.#parts
    for (let isRepeated = false; ; isRepeated = true) {
      try {
        return await claimSending(ledger, sent, replicas.id, isRepeated)
      } catch (error) {
        if (retries.isClosed) throw error
        if (!isRepeated) logger.warn({ err: error, command: sent.id }, 'command not sent yet')
      }
      await retries.wait()
      if (!isHere(sent.cellId) || find(sent.id)?.sends !== sent.sends) return false
    }
  }
}
