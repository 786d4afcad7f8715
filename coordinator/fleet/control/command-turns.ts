import type { Logger } from 'pino'
import { lookUntil } from '../../../shared/look-until.ts'
import type { Wait } from '../../../shared/wait.ts'
import type { Replicas } from '../../kernel/replicas/replicas.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import { type CommandRecord, laneOf, openStatesUpTo } from './command.ts'
import type { CommandAdmissionParts } from './command-admission.ts'
import { readById, readUnansweredElsewhere } from './command-query.ts'
import type { OpenCommands } from './open-commands.ts'
import { isUrgent } from './urgent.ts'

/** Longest wait for the cell's answer to earlier commands, and age up to which one is waited for. */
const LONGEST_MS = 3000
const LOOK_MS = 100

const isUnanswered = ({ state }: Pick<CommandRecord, 'state'>): boolean =>
  openStatesUpTo('sent').includes(state)

export interface CommandTurnsParts extends Pick<CommandAdmissionParts, 'verbs'> {
  ledger: Ledger
  replicas: Pick<Replicas, 'id' | 'live'>
  /** Unix milliseconds. */
  now: () => number
  logger: Pick<Logger, 'warn'>
  wait?: Wait
  /** Monotonic clock in milliseconds. */
  nowMs?: () => number
}

/**
 * Order of commands that several coordinators create for one lane in the same moment. The cell
 * rejects a command after one with a higher fence, and nothing else orders the connections of two
 * coordinators, so the later command waits until the cell has answered the earlier one.
 */
export class CommandTurns {
  readonly #parts: CommandTurnsParts
  readonly #open: Pick<OpenCommands, 'get'>
  readonly #closing = new AbortController()

  constructor(parts: CommandTurnsParts, open: Pick<OpenCommands, 'get'>) {
    this.#parts = parts
    this.#open = open
  }

  /**
   * Returns how to wait for the turn of a stored command; undefined when it may be sent at once.
   * Neither rejects: without the store nobody knows of earlier commands.
   */
  async find(made: CommandRecord): Promise<(() => Promise<void>) | undefined> {
    const { replicas, verbs, logger } = this.#parts
    if (replicas.live().length === 1 || isUrgent(made, verbs)) return undefined
    try {
      const ids = await this.#listEarlier(made)
      return ids.length === 0 ? undefined : () => this.#waitForAnswers(ids)
    } catch (error) {
      logger.warn({ err: error, command: made.id }, 'earlier commands were not read')
      return undefined
    }
  }

  /** Ends the waiting. */
  close(): void {
    this.#closing.abort()
  }

  async #listEarlier(made: CommandRecord): Promise<string[]> {
    const { ledger, replicas, now } = this.#parts
    const since = now() - LONGEST_MS
    const found = await readUnansweredElsewhere(ledger, made.cellId, replicas.id)
    return found
      .filter(one => laneOf(one) === laneOf(made) && one.fence < made.fence)
      .filter(({ issuedAt }) => issuedAt > since)
      .map(({ id }) => id)
  }

  async #waitForAnswers(ids: readonly string[]): Promise<void> {
    const { wait, nowMs } = this.#parts
    const { signal } = this.#closing
    const look = async () =>
      (await this.#isAnyUnanswered(ids).catch(() => true)) ? undefined : 'answered'
    await lookUntil(look, { everyMs: LOOK_MS, timeoutMs: LONGEST_MS, signal, wait, nowMs })
  }

  /** Acks that this coordinator has heard count before the store has them. */
  async #isAnyUnanswered(ids: readonly string[]): Promise<boolean> {
    const stored = await readById(this.#parts.ledger, ids)
    return stored.some(one => isUnanswered(one) && isUnanswered(this.#open.get(one.id) ?? one))
  }
}
