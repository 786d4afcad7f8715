import type { HostedDevice } from './hosted-device.ts'

/** Window of the limit of commands, in milliseconds. */
const MINUTE_MS = 60_000

interface DeviceRun {
  hosted: HostedDevice
  /** Name of the verb. */
  verb: string
  /** Resolves when the device has done it, or is at rest; never rejects. */
  settled: Promise<void>
}

/** Verbs that run on the devices of this cell, and those that ran within the last minute. */
export class DeviceRuns {
  readonly #nowMs: () => number
  readonly #running = new Map<string, Set<DeviceRun>>()
  readonly #startsMs = new Map<string, number[]>()
  readonly #haltListeners = new Set<(deviceId: string) => void>()

  /** `nowMs` is a monotonic clock, in milliseconds. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** Runs a verb, and counts it among those of its device until it has settled. */
  async track<T>(hosted: HostedDevice, verb: string, work: () => Promise<T>): Promise<T> {
    const { deviceId } = hosted.device
    const settled = Promise.withResolvers<void>()
    const run = { hosted, verb, settled: settled.promise }
    const running = this.#running.get(deviceId) ?? new Set()
    this.#running.set(deviceId, running.add(run))
    try {
      return await work()
    } finally {
      running.delete(run)
      if (running.size === 0) this.#running.delete(deviceId)
      settled.resolve()
    }
  }

  /** Names of the verbs that run on a device now, in the order of their start. */
  listRunning(deviceId: string): string[] {
    return [...(this.#running.get(deviceId) ?? [])].map(({ verb }) => verb)
  }

  /** Devices on which something runs, also those that their source has withdrawn. */
  listDevices(): HostedDevice[] {
    return [...this.#running.values()].flatMap(([...runs]) => runs.slice(-1).map(run => run.hosted))
  }

  /** Resolves when nothing runs on the device any more, or on any when none is named. */
  async waitUntilIdle(deviceId?: string): Promise<void> {
    const all = deviceId === undefined ? [...this.#running.keys()] : [deviceId]
    const runs = all.flatMap(id => [...(this.#running.get(id) ?? [])])
    await Promise.all(runs.map(({ settled }) => settled))
  }

  /** Calls the listener whenever somebody halts a device. Returns how to end that. */
  onHalt(listener: (deviceId: string) => void): () => void {
    this.#haltListeners.add(listener)
    return () => this.#haltListeners.delete(listener)
  }

  /** Reports that a device is being halted, whether or not something runs on it. */
  noteHalt(deviceId: string): void {
    for (const listener of this.#haltListeners) listener(deviceId)
  }

  /** Counts a command of the device for the limit per minute. */
  noteStart(deviceId: string): void {
    this.#startsMs.set(deviceId, [...this.#listRecent(deviceId), this.#nowMs()])
  }

  /** Commands of the device within the last minute. */
  countRecent(deviceId: string): number {
    return this.#listRecent(deviceId).length
  }

  #listRecent(deviceId: string): number[] {
    const since = this.#nowMs() - MINUTE_MS
    return (this.#startsMs.get(deviceId) ?? []).filter(at => at > since)
  }
}
