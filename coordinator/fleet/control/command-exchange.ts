import type { Logger } from 'pino'
import { shareRuns } from '../../kernel/base/share-runs.ts'
import { splitList } from '../../kernel/base/split-list.ts'
import type { Replicas } from '../../kernel/replicas/replicas.ts'
import type { Ledger, SealedTrx } from '../../kernel/store/store.ts'
import { type CommandRecord, isAhead, isFinalCommandState, openStatesUpTo } from './command.ts'
import { readById, readOffered, readUnheld } from './command-query.ts'
import type { CommandSender } from './command-sender.ts'
import { offerCommands } from './command-store.ts'
import type { OpenCommands } from './open-commands.ts'
import type { WriteBehind } from './write-behind.ts'

export interface CommandExchangeParts {
  ledger: Ledger
  /** The coordinators, of which each holds the commands that it has created. */
  replicas: Pick<Replicas, 'id' | 'live'>
  isHere: (cellId: string) => boolean
  logger: Pick<Logger, 'warn'>
}

interface OwnParts extends CommandExchangeParts {
  open: OpenCommands
  changed: Pick<WriteBehind, 'get' | 'drop' | 'flushAll'>
  sender: Pick<CommandSender, 'send' | 'sendAll'>
}

/** Commands offered per transaction, so that none holds the sealed lane for long. */
const OFFERED_AT_ONCE = 64
/** Ids per query: the number of values of one statement is limited. */
const IDS_AT_ONCE = 500

/**
 * Keeps the open commands of this coordinator in step with the store that others change, too: it
 * offers those whose cell it cannot reach, and takes over those that no live coordinator holds.
 */
export class CommandExchange {
  readonly #parts: OwnParts
  /** Ids of commands that callers ask for; one query reads them all. */
  readonly #asked = new Set<string>()
  readonly #catchUpAsked = shareRuns(() => {
    const ids = [...this.#asked]
    this.#asked.clear()
    return this.catchUp(ids)
  })
  #offering: Promise<void> | undefined
  #sending: Promise<void> | undefined
  readonly #adoptSoon = shareRuns(() =>
    this.#adoptUnheld().catch(error =>
      this.#parts.logger.warn({ err: error }, 'commands of others were not read'),
    ),
  )
  readonly #offerSoon = shareRuns(() =>
    this.#offer().catch(error =>
      this.#parts.logger.warn({ err: error }, 'commands were not offered'),
    ),
  )

  constructor(parts: OwnParts) {
    this.#parts = parts
  }

  /** Reads what other coordinators have stored, and adds the commands that nobody holds. */
  readonly refresh = shareRuns(async () => {
    const ids = this.#parts.open.list().map(({ id }) => id)
    await this.#adoptUnheld()
    await this.catchUp(ids)
  })

  /**
   * Returns the coordinator that holds a new command; undefined when it is offered from the start,
   * because its cell is not here. Earlier commands that still wait to be offered go first.
   */
  holderFor(cellId: string): string | undefined {
    const { replicas, isHere, open } = this.#parts
    const isHeld =
      this.#isAlone() ||
      isHere(cellId) ||
      open.listByCell(cellId).some(record => this.#isUnreachable(record))
    return isHeld ? replicas.id : undefined
  }

  /**
   * Adopts what others offer for a cell that is here, in the transaction that creates a command for
   * it: the cell refuses a command after one with a higher fence.
   */
  async adoptOlder(trx: SealedTrx, cellId: string): Promise<void> {
    if (this.#isAlone() || !this.#parts.isHere(cellId)) return
    for (const record of await readOffered(trx, cellId)) this.#adopt(record)
  }

  /** Sends the open commands of a cell that has connected, after those that others offer. */
  sendOpen(cellId: string): void {
    const { open, sender } = this.#parts
    const known = open.listByCell(cellId)
    if (this.#isAlone()) sender.sendAll(known)
    else
      this.#sending = this.#adoptSoon().then(() =>
        sender.sendAll(known.flatMap(({ id }) => open.get(id) ?? [])),
      )
  }

  /**
   * Goes on after a coordinator has left: what it held is sent from here, and what the cell has not
   * acknowledged is sent once more, because the ack may have been lost with that coordinator.
   */
  async takeOver(): Promise<void> {
    await this.refresh()
    const { open, sender } = this.#parts
    sender.sendAll(open.list())
  }

  /** Brings commands in memory up to the store where that is ahead. */
  async catchUp(ids: readonly string[]): Promise<void> {
    const { ledger } = this.#parts
    for (const part of splitList(ids, IDS_AT_ONCE))
      for (const record of await readById(ledger, part)) this.#follow(record)
  }

  /** Reads an open command again where another coordinator may have heard its cell. */
  async freshen(id: string): Promise<void> {
    if (this.#isAlone()) return
    this.#asked.add(id)
    // what is in memory serves while the store is unavailable
    await this.#catchUpAsked().catch(() => {})
  }

  /** Offers the commands whose cells have no connection to this coordinator to the others. */
  offer(): void {
    this.#offering = this.#offerSoon()
  }

  /** Resolves when nothing is being offered or read any more. */
  async waitForIdle(): Promise<void> {
    await this.#offering
    await this.#sending
  }

  async #offer(): Promise<void> {
    if (this.#isAlone()) return
    const { ledger, replicas, open, changed } = this.#parts
    const offered = open.list().filter(record => this.#isUnreachable(record))
    if (offered.length === 0) return
    // the store must know first which of them were sent
    await changed.flushAll()
    for (const part of splitList(offered, OFFERED_AT_ONCE)) {
      const ids = part.map(({ id }) => id)
      await offerCommands(ledger, ids, replicas.id)
      for (const id of ids) {
        const record = open.get(id)
        if (record !== undefined) open.set({ ...record, holder: undefined })
      }
    }
  }

  #isUnreachable({ state, holder, cellId }: CommandRecord): boolean {
    const { replicas, isHere } = this.#parts
    return holder === replicas.id && openStatesUpTo('sent').includes(state) && !isHere(cellId)
  }

  #isAlone(): boolean {
    return this.#parts.replicas.live().length === 1
  }

  async #adoptUnheld(): Promise<void> {
    const { ledger, replicas, logger } = this.#parts
    const live = replicas.live().map(({ id }) => id)
    for (const record of await readUnheld(ledger, live, replicas.id, logger)) this.#adopt(record)
  }

  #adopt(record: CommandRecord): void {
    const { open, changed, sender } = this.#parts
    if ((open.get(record.id) ?? changed.get(record.id)) !== undefined) return
    open.set(record)
    sender.send(record)
  }

  #follow(stored: CommandRecord): void {
    const { open, changed } = this.#parts
    const known = open.get(stored.id)
    if (known === undefined || !isAhead(stored, known)) return
    changed.drop(stored.id)
    if (isFinalCommandState(stored.state)) open.delete(stored)
    else open.set({ ...known, ...stored })
  }
}
