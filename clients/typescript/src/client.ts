import { jsonOf, parseJson, textOf } from './body.ts'
import type { ChatChunk, ChatCompletion, ChatRequest, Model } from './chat.ts'
import { ShoalError } from './errors.ts'
import { eventData } from './event-data.ts'
import type { Skills } from './operations.ts'
import { pathPart } from './path-part.ts'
import { isRepeatable, pause, waitSeconds } from './retry.ts'
import { type Call, Transport } from './transport.ts'

export interface ShoalClientOptions {
  baseUrl: string
  apiKey: string
  /** One of the tenants the key may act for; its home tenant by default. */
  tenant?: string
  /** The longest wait for an answer, and for each further piece of it; 60,000 by default. */
  timeoutMs?: number
  /** Waits between attempts; the clock by default. The signal is that of the call. */
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>
  fetch?: typeof fetch
}

/** A skill that waits for people answers this instead of its output. */
export interface PendingAnswer {
  status: 'pending'
  request_id: string
  gate_id: string
  plan_hash: string
  expires_at: string
}

type InputOf<Id extends keyof Skills> =
  Record<string, never> extends Skills[Id]['input']
    ? [input?: Skills[Id]['input']]
    : [input: Skills[Id]['input']]

/** One coordinator and one key. Errors are `ShoalError`s with the coordinator's code. */
export class ShoalClient {
  readonly #transport: Transport
  readonly #sleep: (ms: number, signal?: AbortSignal) => Promise<void>

  /** Throws a TypeError for an address, key or tenant that cannot be one. */
  constructor({ sleep = pause, ...options }: ShoalClientOptions) {
    this.#transport = new Transport(options)
    this.#sleep = sleep
  }

  /**
   * Any route of the API; its answer as JSON. Changes carry an `Idempotency-Key`, so that one that
   * is made again is carried out once.
   */
  async call<T = unknown>(method: string, path: string, call: Call = {}): Promise<T> {
    const once: Record<string, string> =
      method === 'GET' ? {} : { 'idempotency-key': crypto.randomUUID() }
    return this.#again(
      async () => jsonOf<T>(await this.#transport.ask(method, path, call, once)),
      isRepeatable(method, path),
      call.signal,
    )
  }

  /** The output of a skill. */
  async skill<Id extends keyof Skills>(
    id: Id,
    ...[input]: InputOf<Id>
  ): Promise<Skills[Id]['output'] | PendingAnswer> {
    return this.call('POST', `/v1/skills/${pathPart(id)}`, { body: input ?? {} })
  }

  /** The models that the key's tier may use. */
  async models(): Promise<Model[]> {
    return (await this.call<{ data: Model[] }>('GET', '/v1/models')).data
  }

  /** A whole chat completion. */
  chat(request: ChatRequest, signal?: AbortSignal): Promise<ChatCompletion> {
    const call = { body: { ...request, stream: false }, ...(signal && { signal }) }
    return this.#again(
      async () => jsonOf<ChatCompletion>(await this.#transport.ask('POST', COMPLETIONS, call)),
      false,
      signal,
    )
  }

  /**
   * Yields the chunks of a chat completion as they arrive; leaving the loop cancels it. Throws when
   * the answer fails or ends early. Only a request that was refused before its first chunk is
   * retried.
   */
  async *streamChat(request: ChatRequest, signal?: AbortSignal): AsyncGenerator<ChatChunk> {
    const call = { body: { ...request, stream: true }, ...(signal && { signal }) }
    const ask = () => this.#transport.ask('POST', COMPLETIONS, call)
    const answer = await this.#again(ask, false, signal)
    const { status } = answer.response
    for await (const data of eventData(textOf(answer))) {
      if (data === '[DONE]') return
      const chunk = parseJson<ChatChunk & { error?: { code: string; message: string } }>(
        data,
        status,
      )
      if (chunk.error !== undefined)
        throw new ShoalError(chunk.error.code, chunk.error.message, { status })
      yield chunk
    }
    throw new ShoalError('cell_unavailable', 'the answer ended too early')
  }

  async #again<T>(once: () => Promise<T>, canRepeat: boolean, signal?: AbortSignal): Promise<T> {
    for (let attempt = 1; ; attempt++)
      try {
        return await once()
      } catch (error) {
        const seconds = waitSeconds(error, attempt, canRepeat)
        if (seconds === undefined) throw error
        await this.#sleep(seconds * 1000, signal)
        signal?.throwIfAborted()
      }
  }
}

const COMPLETIONS = '/v1/chat/completions'
