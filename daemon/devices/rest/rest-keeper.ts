import type { Logger } from 'pino'
import { wait } from '../../../shared/wait.ts'
import type { DeviceOutcome } from '../../../shared/wire/device-outcome.ts'
import type { HostedDevice } from '../hosted-device.ts'
import { PendingStop, type StopEnd, type StopOrder } from './pending-stop.ts'
import { decodeStops, encodeStops, type StopFile } from './stop-file.ts'

interface RestKeeperParts {
  /** Finds a device that a link lists, or on which a verb runs. */
  find: (deviceId: string) => HostedDevice | undefined
  /** True while the device is under another order: a verb that runs, or an e-stop. */
  isUnderOrder: (deviceId: string) => boolean
  /** Calls back when devices or readings have changed. Returns how to end that. */
  onChange: (listener: () => void) => () => void
  /** Keeps the stops that are not confirmed over a restart; absent in memory only. */
  file?: StopFile | undefined
  /** Unix milliseconds. */
  now: () => number
  /** Monotonic clock, in milliseconds. */
  nowMs: () => number
  /** Time for a device to come to rest before its stop counts as unconfirmed. */
  restMs?: number
  /** Time between two orders to a device that is reachable and not at rest. */
  repeatMs?: number
  logger: Pick<Logger, 'warn' | 'info'>
}

/** A stop that nobody has seen confirmed by rest. */
export interface UnconfirmedStop {
  /** Time of the order, in unix milliseconds. */
  since: number
  reason: string
}

/** A vehicle at 10 m/s needs some 4 s to brake. */
const REST_MS = 10_000
const REPEAT_MS = 5000
/** Interval of looks that no reading prompts. */
const LOOK_MS = 1000

interface KeptStop {
  stop: PendingStop
  isUnconfirmed: boolean
  /** Resolves at the end of the stop. */
  ended: PromiseWithResolvers<void>
  forget: () => void
}

/**
 * Keeps devices at rest: a stop is on the disk until its device is seen at rest, is repeated when
 * the device is back, and counts as unconfirmed when rest is not seen in time. It ends when rest is
 * seen, when a person takes the device over, or when a newer command has succeeded.
 */
export class RestKeeper {
  readonly #parts: RestKeeperParts
  readonly #kept = new Map<string, KeptStop>()
  readonly #listeners = new Set<() => void>()
  #writing: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(parts: RestKeeperParts) {
    this.#parts = parts
  }

  /** Takes up the stops of an earlier run of the daemon. */
  async load(): Promise<void> {
    const loading = this.#load()
    // a stop that is made meanwhile must not replace the file before it was read
    this.#writing = loading
    await loading
  }

  async #load(): Promise<void> {
    const { file, logger } = this.#parts
    const text = await file?.read().catch(() => undefined)
    if (text === undefined) return
    const stops = decodeStops(text)
    if (stops === undefined) logger.warn('the unconfirmed stops of devices could not be read')
    // a stop of this run of the daemon is newer
    for (const { device_id: deviceId, is_unsent, is_own, ...order } of stops ?? [])
      if (!this.#kept.has(deviceId))
        this.#keep(
          { ...order, deviceId, isUnsent: is_unsent ?? false, isOwn: is_own ?? false },
          true,
        )
  }

  /** Ends all observation; what is not confirmed stays on the disk. */
  close(): void {
    this.#isClosed = true
    for (const { forget } of this.#kept.values()) forget()
  }

  /** Calls the listener when a stop has become unconfirmed, or has ended. Returns how to end that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Returns the stop of a device that is not confirmed; undefined without one. */
  findUnconfirmed(deviceId: string): UnconfirmedStop | undefined {
    const { stop, isUnconfirmed } = this.#kept.get(deviceId) ?? {}
    if (stop === undefined || !isUnconfirmed) return undefined
    const { since, reason } = stop.order
    return { since, reason }
  }

  /**
   * Observes a device until it is seen at rest, and repeats the order to stop. Resolves with what was
   * asked and seen when it is at rest, when a person has taken it over, or when the time for it is
   * over; then the stop is unconfirmed, and goes on.
   */
  async bringToRest(order: StopOrder, restMs = this.#parts.restMs ?? REST_MS) {
    const kept = this.#keep(order, false)
    const over = new AbortController()
    await Promise.race([kept.ended.promise, wait(restMs, over.signal)])
    over.abort()
    if (this.#kept.get(order.deviceId) === kept) this.#markUnconfirmed(kept)
    const { outcome, end } = kept.stop
    return { outcome, end } satisfies { outcome: DeviceOutcome; end: StopEnd | undefined }
  }

  /** Ends the stop of a device, which a newer command has replaced. */
  replace(deviceId: string): void {
    const kept = this.#kept.get(deviceId)
    if (kept !== undefined) this.#finish(kept, 'a newer command has succeeded')
  }

  #keep(order: StopOrder, isUnconfirmed: boolean): KeptStop {
    const { deviceId } = order
    const { find, isUnderOrder, onChange, now, nowMs, repeatMs = REPEAT_MS } = this.#parts
    const before = this.#kept.get(deviceId)
    before?.forget()
    const stop = new PendingStop({
      order,
      find: () => find(deviceId),
      isUnderOrder: () => isUnderOrder(deviceId),
      onHeard: () => this.#save(),
      now,
      nowMs,
      repeatMs,
    })
    const look = (): void => this.#look(kept)
    const timer = setInterval(look, Math.min(LOOK_MS, repeatMs)).unref()
    const undo = onChange(look)
    const kept: KeptStop = {
      stop,
      isUnconfirmed: isUnconfirmed || (before?.isUnconfirmed ?? false),
      ended: Promise.withResolvers(),
      forget: () => {
        clearInterval(timer)
        undo()
        kept.ended.resolve()
      },
    }
    this.#kept.set(deviceId, kept)
    this.#save()
    if (this.#isClosed) kept.forget()
    else look()
    return kept
  }

  #look(kept: KeptStop): void {
    kept.stop.look()
    const { end } = kept.stop
    if (end === 'at_rest') this.#finish(kept, 'it is at rest')
    else if (end === 'taken_over') this.#finish(kept, 'a pilot or a failsafe has taken it over')
    else if (end === 'acknowledged') this.#finish(kept, 'it has acknowledged the stop')
  }

  #finish(kept: KeptStop, why: string): void {
    const { order, outcome } = kept.stop
    kept.forget()
    if (this.#kept.get(order.deviceId) !== kept) return
    this.#kept.delete(order.deviceId)
    if (kept.isUnconfirmed) {
      const { values } = outcome.seen
      this.#parts.logger.info({ device: order.deviceId, why, values }, 'a stop has ended')
    }
    this.#save()
    this.#notify()
  }

  #markUnconfirmed(kept: KeptStop): void {
    const { deviceId, reason } = kept.stop.order
    kept.isUnconfirmed = true
    this.#parts.logger.warn({ device: deviceId, reason }, 'a stop is not confirmed by rest')
    this.#notify()
  }

  /** Writes the newest state, after the write under way. */
  #save(): void {
    const { file, logger } = this.#parts
    this.#writing = this.#writing
      .then(() => file?.replace(encodeStops(this.#listStored())))
      .catch(error => {
        logger.warn({ reason: (error as Error).message }, 'unconfirmed stops not written')
      })
  }

  #listStored() {
    return [...this.#kept.values()].map(({ stop: { order, isUnheard } }) => ({
      device_id: order.deviceId,
      behaviour: order.behaviour,
      reason: order.reason.slice(0, 500).toWellFormed(),
      since: order.since,
      ...(isUnheard && { is_unsent: true as const }),
      ...(order.isOwn && { is_own: true as const }),
    }))
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener()
  }
}
