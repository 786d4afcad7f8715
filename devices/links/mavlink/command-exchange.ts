import { ShoalError } from '../../../shared/errors.ts'
import { wait } from '../../../shared/wait.ts'
import { nameResult } from './names.ts'
import { isIdempotent, type MavlinkOperation, nameCommand } from './operations.ts'

/**
 * Times of the further attempts after the first, in milliseconds: soon, as a stop is urgent, and late
 * enough for a radio of several hundred milliseconds each way.
 */
const REPEATS_MS = [400, 1100, 2100, 3600] as const
/** Wait for an answer, from the first attempt. */
const ANSWER_TIMEOUT_MS = 5500
/** Wait for the effect of an acknowledged command; heartbeats come each second. */
const EFFECT_TIMEOUT_MS = 3500
/** Wait for the result of a command that the vehicle reports as in progress. */
const PROGRESS_TIMEOUT_MS = 30_000
/** Wait for the acknowledgement of what was observed already. */
const LATE_ANSWER_MS = 200
/** Acknowledgements of earlier attempts arrive within this time, or never. */
const OWED_MS = 4000

/** `MAV_RESULT_ACCEPTED` and `MAV_RESULT_IN_PROGRESS`. */
const ACCEPTED = 0
const IN_PROGRESS = 5

export interface PerformOptions {
  signal: AbortSignal
  /**
   * True once the effect is observed; `sinceMs` is the monotonic time of the first attempt, undefined
   * for a command that was acknowledged. Without it, an operation ends with its acknowledgement.
   */
  isSeen?: (sinceMs: number | undefined) => boolean
  /** True while readings since then show that a command, which must not run twice, did nothing. */
  isUndone?: (sinceMs: number) => boolean
}

/** One command on its way. */
interface Exchange extends PerformOptions {
  operation: MavlinkOperation
  sentAtMs: number
  attempts: number
  sent: number
  answers: number
  result?: number
  /** Monotonic time at which the exchange ends without a success. */
  deadlineMs: number
  /** Ends the current wait. */
  wake: AbortController
}

interface ExchangeParts {
  send: (operation: MavlinkOperation, attempt: number) => void
  /** Monotonic milliseconds. */
  nowMs: () => number
}

/** Sends commands to one vehicle, and matches acknowledgements and effects. */
export class CommandExchange {
  readonly #parts: ExchangeParts
  readonly #exchanges = new Set<Exchange>()
  /** Acknowledgements of ended exchanges that may still arrive, by command. */
  readonly #owed = new Map<number, { count: number; untilMs: number }>()

  constructor(parts: ExchangeParts) {
    this.#parts = parts
  }

  /**
   * Resolves with the answer of the vehicle, null where only the effect was observed. A command that
   * must not run twice is repeated only while nothing of it is observed.
   * @throws ShoalError conflict for a refusal or a missing effect, request_timeout without an answer
   */
  async perform(operation: MavlinkOperation, options: PerformOptions): Promise<string | null> {
    options.signal.throwIfAborted()
    const exchange = this.#begin(operation, options)
    try {
      for (;;) {
        if (isDone(exchange)) return await this.#awaitAnswer(exchange)
        const nextMs = this.#findNextRepeat(exchange)
        await this.#rest(exchange, Math.min(nextMs, exchange.deadlineMs))
        options.signal.throwIfAborted()
        if (isDone(exchange)) continue
        if (this.#parts.nowMs() >= exchange.deadlineMs) throw createTimeout(exchange)
        if (this.#parts.nowMs() >= nextMs) this.#attempt(exchange)
      }
    } finally {
      this.#exchanges.delete(exchange)
      this.#owe(exchange)
    }
  }

  /** Takes an acknowledgement of the vehicle, also a late one of an earlier attempt. */
  acknowledge(command: number, result: number): void {
    if (this.#isOwed(command)) return
    const exchange = [...this.#exchanges].find(each => each.operation.fields.command === command)
    if (exchange === undefined || exchange.result === ACCEPTED) return
    exchange.answers += 1
    exchange.result = result
    const { isSeen } = exchange
    if (result === IN_PROGRESS) exchange.deadlineMs = this.#parts.nowMs() + PROGRESS_TIMEOUT_MS
    else if (isSeen !== undefined) exchange.deadlineMs = this.#parts.nowMs() + EFFECT_TIMEOUT_MS
    exchange.wake.abort()
  }

  /** Looks for the effects of what was sent, after something has arrived. */
  notice(): void {
    for (const exchange of this.#exchanges) exchange.wake.abort()
  }

  #begin(operation: MavlinkOperation, options: PerformOptions): Exchange {
    const sentAtMs = this.#parts.nowMs()
    const exchange: Exchange = {
      ...options,
      operation,
      sentAtMs,
      attempts: 0,
      sent: 0,
      answers: 0,
      deadlineMs: sentAtMs + ANSWER_TIMEOUT_MS,
      wake: new AbortController(),
    }
    this.#exchanges.add(exchange)
    this.#attempt(exchange)
    return exchange
  }

  #attempt(exchange: Exchange): void {
    const { operation, sentAtMs, attempts, isUndone, answers } = exchange
    exchange.attempts += 1
    const mayRepeat = isIdempotent(operation.fields.command) || isUndone?.(sentAtMs) === true
    if (answers > 0 || (attempts > 0 && !mayRepeat)) return
    this.#parts.send(operation, exchange.sent)
    exchange.sent += 1
  }

  #findNextRepeat({ sentAtMs, attempts, answers }: Exchange): number {
    const after = answers === 0 ? REPEATS_MS[attempts - 1] : undefined
    return after === undefined ? Number.POSITIVE_INFINITY : sentAtMs + after
  }

  /** The answer to what has had its effect; null when none comes soon. */
  async #awaitAnswer(exchange: Exchange): Promise<string | null> {
    const untilMs = this.#parts.nowMs() + LATE_ANSWER_MS
    while (exchange.answers === 0 && this.#parts.nowMs() < untilMs && !exchange.signal.aborted)
      await this.#rest(exchange, untilMs)
    return exchange.result === undefined ? null : nameResult(exchange.result)
  }

  /** Waits until a monotonic time, or until something has arrived. */
  async #rest(exchange: Exchange, untilMs: number): Promise<void> {
    exchange.wake = new AbortController()
    const { wake, signal } = exchange
    const rest_ms = Math.max(0, untilMs - this.#parts.nowMs())
    await wait(rest_ms, AbortSignal.any([wake.signal, signal]))
  }

  #owe({ operation, sent, answers }: Exchange): void {
    const count = sent - answers
    if (count <= 0) return
    const untilMs = this.#parts.nowMs() + OWED_MS
    this.#owed.set(operation.fields.command, { count, untilMs })
  }

  /** Takes an answer that is not that of the command now on its way. */
  #isOwed(command: number): boolean {
    const owed = this.#owed.get(command)
    if (owed === undefined) return false
    if (owed.count === 0 || this.#parts.nowMs() >= owed.untilMs) {
      this.#owed.delete(command)
      return false
    }
    owed.count -= 1
    return true
  }
}

/** @throws ShoalError conflict for a refusal */
const isDone = (exchange: Exchange): boolean => {
  const { result, sentAtMs, isSeen, operation } = exchange
  const isAccepted = result === ACCEPTED
  if (isSeen?.(isAccepted ? undefined : sentAtMs)) return true
  if (result === undefined || result === IN_PROGRESS) return false
  if (isAccepted) return isSeen === undefined
  if (mayHaveBegun(exchange)) return false
  throw createRefusal(operation, result)
}

/** A vehicle that has taken off refuses the same order that is sent again: its effect decides. */
const mayHaveBegun = ({ sent, isSeen, isUndone }: Exchange): boolean =>
  sent > 1 && isSeen !== undefined && isUndone !== undefined

const createRefusal = ({ fields }: MavlinkOperation, result: number): ShoalError =>
  new ShoalError(
    'conflict',
    `the vehicle refused ${nameCommand(fields.command)}: ${nameResult(result)}`,
  )

const createTimeout = ({ operation, sentAtMs, deadlineMs, result }: Exchange): ShoalError => {
  const name = nameCommand(operation.fields.command)
  if (result !== undefined && result !== ACCEPTED && result !== IN_PROGRESS)
    return createRefusal(operation, result)
  if (result === ACCEPTED)
    return new ShoalError('conflict', `the vehicle acknowledged ${name}, but nothing changed`)
  return new ShoalError(
    'request_timeout',
    `the vehicle did not acknowledge ${name} within ${Math.round(deadlineMs - sentAtMs)} ms; ` +
      'it may have carried it out',
  )
}
