import { AsyncLocalStorage } from 'node:async_hooks'
import { ShoalError } from '../../../shared/errors.ts'
import type { Runtime } from '../../../shared/runtime.ts'
import type { Signer } from '../../../shared/signing.ts'
import type { ApprovedPlan } from '../../../shared/wire/approved-plan.ts'
import { LIVE_GATE } from '../../../shared/wire/plan-part.ts'
import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import { noteCreated } from '../../kernel/store/created-in.ts'
import { faultOf } from '../../kernel/store/faults.ts'
import type { Ledger, SealedTrx } from '../../kernel/store/store.ts'
import { type CommandRecord, newRecord } from './command.ts'
import type { CommandAdmission, PreparedCommand } from './command-admission.ts'
import type { CommandExchange } from './command-exchange.ts'
import { type CommandRequest, creationOf, makeCommand } from './command-request.ts'
import type { CommandSender } from './command-sender.ts'
import { insertCommand, nextFence } from './command-store.ts'
import type { CommandTurns } from './command-turns.ts'
import type { CommitChecks } from './commit-checks.ts'
import type { OpenCommands } from './open-commands.ts'

interface CommandCreationParts {
  ledger: Ledger
  signer: Signer
  isHere: (cellId: string) => boolean
  /** Unix milliseconds. */
  now: () => number
  runtime: Pick<Runtime, 'ids'>
}

interface OwnParts extends CommandCreationParts {
  open: Pick<OpenCommands, 'get'>
  admission: Pick<CommandAdmission, 'prepare' | 'requireReleased'>
  commits: Pick<CommitChecks, 'isCommitted'>
  exchange: Pick<CommandExchange, 'adoptOlder' | 'holderFor' | 'offer'>
  sender: Pick<CommandSender, 'sendNew' | 'sendWhen'>
  turns: Pick<CommandTurns, 'find'>
}

/** Creates commands: each is stored with its fence and its audit entry before it is sent. */
export class CommandCreation {
  readonly #parts: OwnParts
  /**
   * Async context outside all calls: work that follows a call is not part of it and marks no
   * changes for it.
   */
  readonly #outsideCalls = AsyncLocalStorage.snapshot()

  constructor(parts: OwnParts) {
    this.#parts = parts
  }

  /** See `Commands.create`. */
  async create(request: CommandRequest, by: Actor): Promise<CommandRecord> {
    const { admission, open, exchange, sender, turns, isHere } = this.#parts
    const prepared = admission.prepare(request)
    admission.requireReleased(request, prepared)
    if (prepared.hazard === 'unsafe' && request.mode === 'live')
      return this.#refuse(request, by, `${request.verb} is unsafe and needs ${LIVE_GATE}`)
    const made = await this.#store(request, by, prepared)
    sender.sendNew(made, await turns.find(made))
    if (!isHere(made.cellId)) exchange.offer()
    return open.get(made.id) ?? made
  }

  /** See `Commands.createWithin`. */
  async createWithin(
    trx: SealedTrx,
    request: Omit<CommandRequest, 'mode'>,
    by: Actor,
    approval: ApprovedPlan,
  ): Promise<CommandRecord> {
    const live: CommandRequest = { ...request, mode: 'live' }
    const { admission } = this.#parts
    const prepared = admission.prepare(live)
    admission.requireReleased(live, prepared)
    const record = await this.#insert(trx, live, by, prepared, approval)
    this.#sendIfStored(record)
    return record
  }

  async #refuse(request: CommandRequest, by: Actor, reason: string): Promise<never> {
    const entry = creationOf(request, { ...by, at: this.#parts.now() }, 'refused', { reason })
    await this.#parts.ledger.sealed.write(trx => appendAudit(trx, entry))
    throw new ShoalError('forbidden', reason)
  }

  /** A command whose commit has failed with an unknown outcome is sent if it is stored after all. */
  async #store(
    request: CommandRequest,
    by: Actor,
    prepared: PreparedCommand,
  ): Promise<CommandRecord> {
    const tried: CommandRecord[] = []
    try {
      return await this.#parts.ledger.sealed.write(async trx => {
        const made = await this.#insert(trx, request, by, prepared)
        tried.push(made)
        return made
      })
    } catch (error) {
      if (faultOf(error) === 'uncertain') for (const made of tried) this.#sendIfStored(made)
      throw error
    }
  }

  #sendIfStored(made: CommandRecord): void {
    const { commits, sender, turns } = this.#parts
    const isStored = this.#outsideCalls(async () => {
      const isCommitted = await commits.isCommitted(made.id)
      if (isCommitted) await (await turns.find(made))?.()
      return isCommitted
    })
    sender.sendWhen(made, isStored)
  }

  async #insert(
    trx: SealedTrx,
    request: CommandRequest,
    by: Actor,
    { facts, hazard, level }: PreparedCommand,
    approval?: ApprovedPlan,
  ): Promise<CommandRecord> {
    const { signer, exchange, runtime } = this.#parts
    await exchange.adoptOlder(trx, request.cellId)
    const now = this.#parts.now()
    const id = runtime.ids.create('cmd', now)
    const fence = await nextFence(trx, request.cellId, now)
    const command = makeCommand(request, { id, hazard, fence, approval, level, signer, now })
    const made = newRecord(
      command,
      facts.timeout_seconds,
      by.actor,
      exchange.holderFor(request.cellId),
    )
    const details = { command: made.id, ...approvalNote(approval) }
    noteCreated(trx, made.id)
    await insertCommand(trx, made, creationOf(request, { ...by, at: now }, 'done', details))
    return made
  }
}

const approvalNote = (approved: ApprovedPlan | undefined): Record<string, string> =>
  approved === undefined
    ? {}
    : { request: approved.approval.request_id, plan_hash: approved.approval.plan_hash }
