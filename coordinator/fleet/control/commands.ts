import { AsyncLocalStorage } from 'node:async_hooks'
import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'
import type { Runtime } from '../../../shared/runtime.ts'
import type { ApprovedPlan } from '../../../shared/wire/approved-plan.ts'
import { NEEDS } from '../../../shared/wire/capability.ts'
import type { Actor } from '../../kernel/audit/audit.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import {
  abandonedStateOf,
  type CommandRecord,
  type CommandState,
  deadlineOf,
  follows,
  isFinalCommandState,
  openStatesUpTo,
  statesBefore,
} from './command.ts'
import { CommandAdmission, type CommandAdmissionParts } from './command-admission.ts'
import { CommandCreation } from './command-creation.ts'
import { commandEnd } from './command-end.ts'
import { CommandExchange, type CommandExchangeParts } from './command-exchange.ts'
import { type CommandPlan, createUnresolvedPlan, requireDryRunPlan } from './command-plan.ts'
import { type CommandFilter, readCommand, readCommands } from './command-query.ts'
import type { CommandRequest } from './command-request.ts'
import { CommandSender, type CommandSenderParts } from './command-sender.ts'
import { updateCommands } from './command-store.ts'
import { CommandTurns, type CommandTurnsParts } from './command-turns.ts'
import { CommitChecks } from './commit-checks.ts'
import { type AckParts, readGenuineAck } from './genuine-ack.ts'
import { OpenCommands } from './open-commands.ts'
import { Retries } from './retries.ts'
import { WriteBehind } from './write-behind.ts'

export type { CommandRequest } from './command-request.ts'

/** Time limit of a dry run; a cell plans immediately, without queueing. */
const PLAN_SECONDS = 15

interface CommandsParts
  extends CommandAdmissionParts,
    CommandExchangeParts,
    CommandTurnsParts,
    AckParts,
    Omit<
      CommandSenderParts,
      'change' | 'find' | 'open' | 'onOvertaken' | 'retries' | keyof CommandExchangeParts
    > {
  logger: Logger
  runtime: Runtime
  /** Longest wait of an urgent command for its outcome, in milliseconds. */
  urgentAnswerMs?: number
}

const URGENT_ANSWER_MS = 5000

/**
 * Opens the commands; they are stored on disk at every step that matters, from request to final
 * ack.
 */
export const createCommands = async (parts: CommandsParts): Promise<Commands> => {
  const commands = new Commands(parts)
  await commands.refresh()
  return commands
}

/** The commands of all cells, as far as their coordinator knows. */
export class Commands {
  /** Longest wait of an urgent command for its outcome, in milliseconds. */
  readonly urgentAnswerMs: number
  readonly #parts: CommandsParts
  readonly #open = new OpenCommands()
  readonly #changed: WriteBehind
  readonly #admission: CommandAdmission
  readonly #retries = new Retries()
  readonly #sender: CommandSender
  readonly #exchange: CommandExchange
  readonly #turns: CommandTurns
  readonly #creation: CommandCreation
  /**
   * Async context outside all calls: a dry run changes nothing, so that a call that is refused by
   * its plan has not either, and may be repeated with its idempotency key.
   */
  readonly #outsideCalls = AsyncLocalStorage.snapshot()

  constructor(parts: CommandsParts) {
    const { ledger, logger, replicas } = parts
    this.#parts = parts
    this.urgentAnswerMs = parts.urgentAnswerMs ?? URGENT_ANSWER_MS
    this.#admission = new CommandAdmission(parts, this.#open)
    const retries = this.#retries
    this.#sender = new CommandSender({
      ...parts,
      retries,
      find: id => this.#open.get(id),
      open: record => this.#open.set(record),
      change: (record, values) => this.#change(record, values, openStatesUpTo(record.state)),
      onOvertaken: id => this.#catchUp([id]),
    })
    this.#changed = new WriteBehind(
      async changes => this.#catchUp(await updateCommands(ledger, changes, replicas.id)),
      (error, commands) => logger.error({ err: error, commands }, 'commands not kept'),
      parts.runtime,
    )
    const [open, changed, sender] = [this.#open, this.#changed, this.#sender]
    this.#exchange = new CommandExchange({ ...parts, open, changed, sender })
    this.#turns = new CommandTurns(parts, open)
    const [admission, exchange, turns] = [this.#admission, this.#exchange, this.#turns]
    const commits = new CommitChecks({ ...parts, retries })
    const own = { open, admission, commits, exchange, sender, turns }
    this.#creation = new CommandCreation({ ...parts, ...own })
  }

  /** Reads what other coordinators have stored; commands that nobody holds are sent from here. */
  refresh(): Promise<void> {
    return this.#exchange.refresh()
  }

  /** Goes on with the commands of a coordinator that has left. */
  takeOver(): Promise<void> {
    return this.#exchange.takeOver()
  }

  /**
   * Returns what the cell would do, from a dry run that changes nothing. Throws errors that a
   * person can act on; for a cell that cannot plan yet, an unsafe command is a `conflict`.
   */
  async plan(
    request: Omit<CommandRequest, 'mode' | 'ttlSeconds'>,
    by: Actor,
    signal: AbortSignal = new AbortController().signal,
  ): Promise<CommandPlan> {
    const live: CommandRequest = { ...request, mode: 'live', ttlSeconds: PLAN_SECONDS }
    const { hazard, level } = this.#admission.prepare(live)
    if (level < NEEDS.plan) return createUnresolvedPlan(live, hazard)
    if (!this.#parts.isHere(request.cellId))
      throw new ShoalError(
        'cell_unavailable',
        `${request.cellId} is not connected to this coordinator`,
      )
    const { wait, runtime } = this.#parts
    const made = await this.#outsideCalls(() => this.create({ ...live, mode: 'dry' }, by))
    const limit = { timeoutMs: PLAN_SECONDS * 1000, signal, runtime, ...(wait && { wait }) }
    return requireDryRunPlan(await commandEnd(this, made, limit))
  }

  /** True for a command that cannot be created without an approval. */
  needsApproval(request: CommandRequest): boolean {
    return request.mode === 'live' && this.#admission.prepare(request).hazard === 'unsafe'
  }

  /**
   * Creates a command and resolves when it is on the disk. Throws errors that a person can act on.
   */
  create(request: CommandRequest, by: Actor): Promise<CommandRecord> {
    return this.#creation.create(request, by)
  }

  /**
   * Creates a live command in the transaction that uses its approval. It is sent when that
   * transaction was committed; when it is rolled back, nothing was created.
   */
  createWithin(
    trx: SealedTrx,
    request: Omit<CommandRequest, 'mode'>,
    by: Actor,
    approval: ApprovedPlan,
  ): Promise<CommandRecord> {
    return this.#creation.createWithin(trx, request, by, approval)
  }

  async get(id: string): Promise<CommandRecord | undefined> {
    if (this.#open.get(id) !== undefined) await this.#exchange.freshen(id)
    return this.#read(id)
  }

  /** Newest first. */
  async list(filter: CommandFilter): Promise<CommandRecord[]> {
    const { ledger, logger } = this.#parts
    const kept = await readCommands(ledger, filter, logger)
    return kept.map(one => this.#find(one.id) ?? one)
  }

  /** Applies a body of the `ack` topic; an ack that the cell has not signed is dropped. */
  async acknowledge(cellId: string, body: unknown): Promise<void> {
    const ack = await readGenuineAck(cellId, body, this.#parts)
    if (ack === undefined) return
    const record = await this.#read(ack.command_id)
    if (record?.cellId !== cellId) return
    const { state, reason, message, result, asked, seen, progress } = ack
    if (follows(record.state, state, record.reason))
      this.#change(
        withoutWhy(record),
        { state, ...omitUndefined({ reason, message, result, asked, seen, progress }) },
        statesBefore(state),
      )
    else if (record.state === 'executing' && progress !== undefined)
      this.#open.set({ ...record, progress, updatedAt: this.#parts.now() })
  }

  /** Sends the queued commands of a cell that has connected, and resends unacknowledged ones. */
  sendOpen(cellId: string): void {
    this.#exchange.sendOpen(cellId)
  }

  /**
   * Gives up commands whose deadline has passed, offers those whose cell is not here to the other
   * coordinators, and repeats what the store refused; call it about once a second.
   */
  sweep(): void {
    const { now, replicas } = this.#parts
    for (const record of this.#open.list())
      if (now() >= deadlineOf(record))
        this.#change(record, abandonedStateOf(record, replicas.id), openStatesUpTo(record.state))
    this.#retries.wake()
    this.#changed.flush()
    this.#exchange.offer()
  }

  /** Resolves when all changes are on the disk. */
  async close(): Promise<void> {
    this.#retries.close()
    this.#turns.close()
    await this.#exchange.waitForIdle()
    await this.#sender.waitForIdle()
    await this.#changed.flushAll()
  }

  /** The newest state of a command that this process has in memory. */
  #find(id: string): CommandRecord | undefined {
    return this.#open.get(id) ?? this.#changed.get(id)
  }

  async #read(id: string): Promise<CommandRecord | undefined> {
    const found = this.#find(id) ?? (await readCommand(this.#parts.ledger, id))
    // what happened here while the store was read is newer
    return this.#find(id) ?? found
  }

  #change(
    record: CommandRecord,
    values: Partial<CommandRecord>,
    follows: readonly CommandState[],
  ): CommandRecord {
    const next = { ...record, ...values, updatedAt: this.#parts.now() }
    if (isFinalCommandState(next.state)) this.#open.delete(next)
    else this.#open.set(next)
    this.#changed.add({ record: next, follows })
    return next
  }

  /** Follows commands that have gone on elsewhere; what stays behind is caught up later. */
  #catchUp(ids: readonly string[]): void {
    if (ids.length === 0) return
    const { logger } = this.#parts
    this.#exchange
      .catchUp(ids)
      .catch(error => logger.warn({ err: error }, 'commands were not read again'))
  }
}

/**
 * Drops the explanation of an earlier state, which no longer applies after an update without a
 * reason.
 */
const withoutWhy = ({ reason, message, progress, ...record }: CommandRecord): CommandRecord =>
  record

const omitUndefined = <T extends object>(
  values: T,
): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never
