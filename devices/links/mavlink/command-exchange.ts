import { ShoalError } from '../../../shared/errors.ts'
import { nameResult } from './names.ts'
import { isIdempotent, type MavlinkOperation, nameCommand } from './operations.ts'

const MAX_ATTEMPTS = 3
const ACK_TIMEOUT_MS = 1500
/** Wait for the result of a command that the vehicle reports as in progress. */
const PROGRESS_TIMEOUT_MS = 30_000

/** `MAV_RESULT_ACCEPTED` and `MAV_RESULT_IN_PROGRESS`. */
const ACCEPTED = 0
const IN_PROGRESS = 5

interface Awaited {
  command: number
  /** Called with the result, or with undefined when the time is over. */
  settle: (result?: number) => void
  timer: NodeJS.Timeout
}

interface PerformOptions {
  signal: AbortSignal
  /** Wait for the acknowledgement of each attempt. */
  timeoutMs?: number
}

/** Sends commands to one vehicle, and matches the acknowledgements. */
export class CommandExchange {
  readonly #send: (operation: MavlinkOperation, attempt: number) => void
  readonly #awaited = new Set<Awaited>()

  constructor(send: (operation: MavlinkOperation, attempt: number) => void) {
    this.#send = send
  }

  /**
   * Resolves when the vehicle has accepted the command. Only an idempotent command is
   * retried.
   * @throws ShoalError conflict for a refusal, request_timeout without an acknowledgement
   */
  async perform(
    operation: MavlinkOperation,
    { signal, timeoutMs = ACK_TIMEOUT_MS }: PerformOptions,
  ): Promise<void> {
    const { command } = operation.fields
    const attempts = isIdempotent(command) ? MAX_ATTEMPTS : 1
    for (let attempt = 0; attempt < attempts; attempt++) {
      const acknowledged = this.#awaitResult(command, timeoutMs, signal)
      this.#send(operation, attempt)
      const result = await acknowledged
      if (result === ACCEPTED) return
      if (result !== undefined) throw createRefusal(command, result)
    }
    throw createTimeout(command, attempts, timeoutMs)
  }

  /** Takes an acknowledgement of the vehicle; it belongs to the oldest attempt of its command. */
  acknowledge(command: number, result: number): void {
    const found = [...this.#awaited].find(each => each.command === command)
    if (found === undefined) return
    clearTimeout(found.timer)
    if (result === IN_PROGRESS) found.timer = setTimeout(found.settle, PROGRESS_TIMEOUT_MS)
    else found.settle(result)
  }

  /** Resolves with undefined after the timeout, and rejects when the signal aborts. */
  async #awaitResult(
    command: number,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
    const settle = (result?: number): void => resolve(result)
    const awaited: Awaited = { command, settle, timer: setTimeout(settle, timeoutMs) }
    const abort = (): void => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    this.#awaited.add(awaited)
    try {
      return await promise
    } finally {
      clearTimeout(awaited.timer)
      signal.removeEventListener('abort', abort)
      this.#awaited.delete(awaited)
    }
  }
}

const createRefusal = (command: number, result: number): ShoalError =>
  new ShoalError('conflict', `the vehicle refused ${nameCommand(command)}: ${nameResult(result)}`)

const createTimeout = (command: number, attempts: number, timeoutMs: number): ShoalError =>
  new ShoalError(
    'request_timeout',
    `the vehicle did not acknowledge ${nameCommand(command)} within ${attempts * timeoutMs} ms; ` +
      'it may have carried it out',
  )
