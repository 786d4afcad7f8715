import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import { wait } from '../../../shared/wait.ts'
import type { DeviceState, EstopBehaviour } from '../../../shared/wire/device.ts'
import { type DeviceOutcome, NOTHING_SEEN } from '../../../shared/wire/device-outcome.ts'
import { AskedLog } from '../../asked-log.ts'
import { readPointer } from '../../declared/pointer.ts'
import { toPropertyValue } from '../../declared/values.ts'
import { toDeviceFailure } from '../../device-failure.ts'
import { createDeviceId } from '../../device-id.ts'
import type {
  DeviceLink,
  ExecuteContext,
  Execution,
  LinkContext,
  LinkedDevice,
} from '../../device-link.ts'
import { dial } from '../../net/dial.ts'
import { createTrust } from '../../net/trust.ts'
import type { DeviceProfile, Json } from '../../profile.ts'
import type { HttpLinkConfig } from './config.ts'
import { createHttpProfile } from './http-generic.ts'
import { type HttpRequest, sendRequest } from './request.ts'

/** Longest time until a stop must be confirmed. */
const STOP_MS = 450

/** Rest between two looks whether the address of a device without a state can be reached. */
const PROBE_SECONDS = 10

/** Operation of a plan: a request, as it is sent. */
const HttpOperation = z.strictObject({
  method: z.enum(['POST', 'PUT']),
  url: z.string(),
  body: z.json().exactOptional(),
})

/**
 * One device with an HTTP interface; its state is read again and again. Of one without a state it is
 * read whether its address can be reached.
 */
export class HttpLink implements DeviceLink {
  readonly kind = 'http'
  readonly #config: HttpLinkConfig
  readonly #context: LinkContext
  readonly #deviceId: string
  readonly #profile: DeviceProfile
  readonly #listeners = new Set<() => void>()
  #ends = new AbortController().signal
  #reason: string | undefined
  #state: DeviceState

  constructor(config: HttpLinkConfig, context: LinkContext) {
    this.#config = config
    this.#context = context
    this.#deviceId = createDeviceId(`${context.cellId}:http:${config.name}`)
    this.#profile = createHttpProfile(config)
    this.#state = { device_id: this.#deviceId, seen_at: null, readings: {} }
    this.#reason =
      config.state === undefined ? 'its address was not reached yet' : 'the state was not read yet'
  }

  start(signal: AbortSignal): void {
    this.#ends = signal
    void this.#keepReading(signal)
  }

  list(): readonly LinkedDevice[] {
    const { name, url, site, envelope } = this.#config
    return [
      {
        deviceId: this.#deviceId,
        name,
        profile: this.#profile,
        available: this.#reason === undefined,
        writable: true,
        options: { url },
        ...(this.#reason !== undefined && { reason: this.#reason }),
        ...(site !== undefined && { site }),
        ...(envelope !== undefined && { envelope }),
      },
    ]
  }

  readState(deviceId: string): DeviceState | undefined {
    return deviceId === this.#deviceId ? this.#state : undefined
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async execute(
    deviceId: string,
    operations: readonly Json[],
    { signal }: ExecuteContext,
  ): Promise<Execution> {
    this.#requireOwn(deviceId)
    const requests = operations.map(operation => this.#parseOperation(operation))
    const log = new AskedLog()
    try {
      const statuses: number[] = []
      for (const request of requests)
        statuses.push(await this.#ask(request, log, AbortSignal.any([signal, this.#ends])))
      return { ...NOTHING_SEEN, asked: log.asked, result: { statuses } }
    } catch (error) {
      if (signal.aborted) await this.#askToStop(this.#profile.atEstop, log).catch(() => {})
      throw toDeviceFailure(error, { ...NOTHING_SEEN, asked: log.asked })
    }
  }

  /** An answer of the device says that it was told, not what it did. */
  async stop(deviceId: string, behaviour: EstopBehaviour): Promise<DeviceOutcome> {
    this.#requireOwn(deviceId)
    const log = new AskedLog()
    try {
      await this.#askToStop(behaviour, log)
    } catch (error) {
      throw toDeviceFailure(error, { ...NOTHING_SEEN, asked: log.asked })
    }
    return { ...NOTHING_SEEN, asked: log.asked }
  }

  async #askToStop(behaviour: EstopBehaviour, log: AskedLog): Promise<void> {
    const verb = this.#profile.verbs[this.#config.estop_verb ?? '']
    if (behaviour === 'none' || verb === undefined) return
    const target = { device_id: this.#deviceId, options: {}, envelope: {} }
    for (const operation of verb.plan({}, target).operations)
      await this.#ask(this.#parseOperation(operation), log, AbortSignal.timeout(STOP_MS))
  }

  async #ask(request: HttpRequest, log: AskedLog, signal: AbortSignal): Promise<number> {
    const send = async () => `${(await this.#send(request, signal)).status}`
    return Number(await log.ask(`${request.method} ${new URL(request.url).pathname}`, send))
  }

  #parseOperation(operation: unknown): HttpRequest {
    const { data } = HttpOperation.safeParse(operation)
    const { name, url } = this.#config
    if (data?.url.startsWith(`${url.replace(/\/$/, '')}/`)) return data
    throw new ShoalError('invalid_request', `not an operation for ${name}`)
  }

  async #send(
    request: HttpRequest,
    signal: AbortSignal,
  ): Promise<Awaited<ReturnType<typeof sendRequest>>> {
    const { name, max_answer_bytes: maxAnswerBytes, authorization_file: file } = this.#config
    const { readSecret } = this.#context
    try {
      const authorization = file === undefined ? undefined : await readSecret(file)
      const open = (ends: AbortSignal) => this.#dial(ends)
      return await sendRequest(request, { dial: open, authorization, maxAnswerBytes, signal })
    } catch (cause) {
      if (cause instanceof ShoalError && !signal.aborted) throw cause
      const why = signal.aborted ? ' in time' : `: ${(cause as Error).message}`
      const code = signal.aborted ? 'request_timeout' : 'cell_unavailable'
      throw new ShoalError(code, `${name} did not answer${why}`, { cause })
    }
  }

  async #dial(signal: AbortSignal) {
    const { name, url } = this.#config
    const { hostname, port, protocol } = new URL(url)
    const isSecure = protocol === 'https:'
    const host = hostname.replace(/^\[|\]$/g, '')
    const { readSecret, resolveHost } = this.#context
    const tls = isSecure ? await createTrust(`device ${name}`, this.#config, readSecret) : undefined
    return dial({ host, port: Number(port) || (isSecure ? 443 : 80), tls }, resolveHost, signal)
  }

  async #keepReading(signal: AbortSignal): Promise<void> {
    const { state, timeout_seconds } = this.#config
    while (!signal.aborted) {
      const limit = AbortSignal.timeout(timeout_seconds * 1000)
      this.#reason = await this.#readOnce(AbortSignal.any([signal, limit]))
      for (const listener of [...this.#listeners]) listener()
      await wait((state?.every_seconds ?? PROBE_SECONDS) * 1000, signal)
    }
  }

  /** Returns why nothing could be read; undefined when it was. */
  async #readOnce(signal: AbortSignal): Promise<string | undefined> {
    const { url, state } = this.#config
    const failed = state === undefined ? 'it cannot be reached' : 'the state cannot be read'
    try {
      if (state === undefined) (await this.#dial(signal)).destroy()
      else {
        const sent = { method: 'GET', url: `${url.replace(/\/$/, '')}${state.path}` } as const
        const { text } = await this.#send(sent, signal)
        this.#note(JSON.parse(text))
      }
      return undefined
    } catch (error) {
      return `${failed}: ${(error as Error).message}`.slice(0, 300)
    }
  }

  #note(answer: unknown): void {
    const at = this.#context.now()
    const readings = { ...this.#state.readings }
    for (const [name, property] of Object.entries(this.#config.properties)) {
      const value = toPropertyValue(property, readPointer(answer, property.pointer))
      if (value !== undefined) readings[name] = { value, at }
    }
    this.#state = { ...this.#state, seen_at: at, readings }
  }

  #requireOwn(deviceId: string): void {
    if (deviceId !== this.#deviceId)
      throw new ShoalError('not_found', `${this.#config.name} is not ${deviceId}`)
  }
}
