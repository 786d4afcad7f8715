import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import type { MqttConnection } from '../../mqtt/connection.ts'
import { findRefusal, type Reply } from './report.ts'
import { requestTopicOf } from './topics.ts'

const Message = z.strictObject({
  topic: z.string(),
  payload: z.partialRecord(
    z.enum(['print', 'system']),
    z.looseObject({ sequence_id: z.string(), command: z.string() }),
  ),
})
type Message = z.infer<typeof Message>

/** Operation of a printer's plan: a message, and the one that brings the printer to rest again. */
const PrinterOperation = Message.extend({ at_abort: Message.exactOptional() })
export type PrinterOperation = z.infer<typeof PrinterOperation>

/**
 * Reads an operation of the printer's plan.
 * @throws ShoalError invalid_request for anything else
 */
export const parseOperation = (operation: unknown, serial: string): PrinterOperation => {
  const { data } = PrinterOperation.safeParse(operation)
  if (data !== undefined && data.topic === requestTopicOf(serial)) return data
  throw new ShoalError('invalid_request', `not an operation for printer ${serial}`)
}

/** Messages to a printer and its answers, which repeat command and sequence id. */
export class Exchange {
  readonly #connection: Pick<MqttConnection, 'publish'>
  readonly #waiting = new Map<string, PromiseWithResolvers<Reply>>()

  constructor(connection: Pick<MqttConnection, 'publish'>) {
    this.#connection = connection
  }

  /**
   * Sends a message and resolves when the printer has confirmed it.
   * @throws ShoalError broker_unavailable, forbidden or conflict; request_timeout without an answer
   */
  async send({ topic, payload }: Message, signal: AbortSignal): Promise<void> {
    const key = keyOf(Object.values(payload)[0] ?? NO_PART)
    const answer = Promise.withResolvers<Reply>()
    const abort = (): void => answer.reject(createSilentError(signal))
    signal.addEventListener('abort', abort, { once: true })
    this.#waiting.set(key, answer)
    try {
      signal.throwIfAborted()
      // the answer may come before the acknowledgement of the broker
      answer.promise.catch(() => {})
      await this.#connection.publish(topic, JSON.stringify(payload), signal)
      requireSuccess(await answer.promise)
    } catch (error) {
      throw signal.aborted ? createSilentError(signal) : error
    } finally {
      signal.removeEventListener('abort', abort)
      if (this.#waiting.get(key) === answer) this.#waiting.delete(key)
    }
  }

  /** Ends every wait: no answer comes from a connection that has ended. */
  rejectAll(reason: string): void {
    const error = new ShoalError('broker_unavailable', `the printer did not confirm: ${reason}`)
    for (const { reject } of this.#waiting.values()) reject(error)
  }

  settle(reply: Reply): void {
    this.#waiting.get(keyOf(reply))?.resolve(reply)
  }
}

const NO_PART = { command: '', sequence_id: '' }

const keyOf = ({ command, sequence_id }: Pick<Reply, 'command' | 'sequence_id'>): string =>
  `${command}:${sequence_id}`

const requireSuccess = (reply: Reply): void => {
  if (reply.result?.toLowerCase() === 'success') return
  const refusal = findRefusal(reply)
  if (refusal !== undefined) throw new ShoalError('forbidden', refusal)
  const why = reply.reason ?? reply.err_code ?? 'no reason given'
  throw new ShoalError('conflict', `the printer did not do ${reply.command}: ${why}`)
}

const createSilentError = ({ reason }: AbortSignal): ShoalError =>
  new ShoalError('request_timeout', 'the printer did not confirm the command in time', {
    cause: reason,
  })
