import type { Logger } from 'pino'
import type { Wait } from '../../shared/wait.ts'
import { MAX_DEVICES } from '../../shared/wire/device.ts'
import { NOTHING_SEEN } from '../../shared/wire/device-outcome.ts'
import {
  coversDevice,
  type EstopBody,
  type EstoppedDevice,
  type LatchedStop,
} from '../../shared/wire/estop.ts'
import { DeviceStopper, type StopResponse } from './device-stopper.ts'
import type { EstopLatch } from './latch.ts'
import type { KeptStop } from './latch-file.ts'
import type { LocalOrder } from './local-stop.ts'
import type { StoppableDevice, StoppableDevices } from './stoppable-devices.ts'

interface CellEstopParts {
  latch: EstopLatch
  /** Unix milliseconds. */
  now: () => number
  logger: Pick<Logger, 'info' | 'warn'>
  wait?: Wait
}

/** Cell to which the latch belongs, and its devices. */
interface AttachedCell {
  cellId: string
  devices: StoppableDevices
}

interface LocalRelease {
  /** The stop that ends; every stop that was engaged on the machine when absent. */
  estopId?: string | undefined
  reason: string
  by: string
}

/**
 * The e-stop of this cell: the latch, and the devices that it holds. Engaging stops the devices in
 * the same call, beside whatever they do, while the latch is written.
 */
export class CellEstop {
  readonly #parts: CellEstopParts
  readonly #listeners = new Set<() => void>()
  readonly #lastSites = new Map<string, string | null>()
  #cell: AttachedCell = {
    cellId: '',
    devices: {
      listDevices: () => [],
      onChange: () => () => {},
      stopDevice: async () => NOTHING_SEEN,
    },
  }
  #stopper: DeviceStopper
  /** Ids of the stops that were latched before: an earlier run of the daemon may have sent them. */
  readonly #earlier: ReadonlySet<string>

  constructor(parts: CellEstopParts) {
    this.#parts = parts
    this.#earlier = new Set(parts.latch.list().map(({ estop_id }) => estop_id))
    this.#stopper = this.#createStopper()
    parts.latch.onEngage(() => void this.#stopDevices())
  }

  get version(): number {
    return this.#parts.latch.version
  }

  get isSaved(): boolean {
    return this.#parts.latch.isSaved
  }

  /** Adds the devices, and stops those that are covered. */
  attach(cell: AttachedCell): void {
    this.#cell = cell
    this.#stopper = this.#createStopper()
    cell.devices.onChange(() => void this.#handleChange())
    if (this.#parts.latch.list().length > 0) void this.#stopDevices()
  }

  /** Calls the listener synchronously whenever a stop was engaged. Returns how to end that. */
  onEngage(listener: () => void): () => void {
    return this.#parts.latch.onEngage(listener)
  }

  /** Calls the listener when the stops, or the devices that failed, may have changed. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Returns the stop that holds a device; undefined while none does. */
  findStop(deviceId: string): KeptStop | undefined {
    const { cellId } = this.#cell
    return this.#parts.latch.findCovering({ cellId, deviceId, site: this.#findSite(deviceId) })
  }

  /** Finds the response of the e-stop that holds a device; undefined while none holds it. */
  findResponse(deviceId: string): (StopResponse & { estop_id: string }) | undefined {
    const stop = this.findStop(deviceId)
    if (stop === undefined) return undefined
    const device = this.#cell.devices.listDevices().find(one => one.deviceId === deviceId)
    const response = this.#stopper.findResponse(deviceId) ?? {
      behaviour: device?.atEstop ?? 'none',
      outcome: NOTHING_SEEN,
    }
    return { estop_id: stop.estop_id, ...response }
  }

  /** Covered devices with what was asked of them and observed. */
  listHeld(): EstoppedDevice[] {
    const { cellId, devices } = this.#cell
    const covered = devices
      .listDevices()
      .filter(device => this.#parts.latch.findCovering({ cellId, ...device }) !== undefined)
    return covered.flatMap(({ deviceId }) => {
      const response = this.#stopper.findResponse(deviceId)
      const reason = this.#stopper.findFailure(deviceId)
      if (response === undefined) return []
      const { behaviour, outcome } = response
      return [{ device_id: deviceId, behaviour, ...outcome, ...(reason && { reason }) }]
    })
  }

  /** Returns a stop that holds the cell or one of its devices; undefined while none does. */
  findAnyStop(): KeptStop | undefined {
    const sites = new Set(this.#cell.devices.listDevices().map(({ site }) => site))
    return this.#parts.latch
      .list()
      .find(({ scope, target }) => scope !== 'site' || sites.has(target))
  }

  /** Lists the devices with this id, or with this name in any letter case: a broker may give it twice. */
  listDevices(idOrName: string): StoppableDevice[] {
    const wanted = idOrName.toLowerCase()
    return this.#cell.devices
      .listDevices()
      .filter(({ deviceId, name }) => deviceId === idOrName || name.toLowerCase() === wanted)
  }

  /** Name of a device by its id; undefined for one that is not here now. */
  findName(id: string): string | undefined {
    return this.#cell.devices.listDevices().find(({ deviceId }) => deviceId === id)?.name
  }

  /** Engages a stop of this machine; see `EstopLatch.engage`. */
  async engage(order: LocalOrder): Promise<KeptStop> {
    const stop = await this.#parts.latch.engage(order)
    const { estop_id, reason, engaged_by } = stop
    this.#parts.logger.warn({ estop: estop_id, reason, by: engaged_by }, 'e-stop engaged here')
    this.#notify()
    return stop
  }

  /** Applies a genuine document of the coordinator; see `EstopLatch.apply`. */
  async apply(document: Pick<EstopBody, 'version' | 'engaged' | 'released'>): Promise<void> {
    await this.#parts.latch.apply(document)
    this.#notify()
  }

  /** Releases stops on the machine. Resolves with their ids once that is on the disk. */
  async release({ estopId, reason, by }: LocalRelease): Promise<string[]> {
    const { latch, now, logger } = this.#parts
    const locals = latch.list().filter(({ is_local }) => is_local)
    const ids = estopId === undefined ? locals.map(({ estop_id }) => estop_id) : [estopId]
    const released: string[] = []
    for (const estop_id of ids)
      if (await latch.release({ estop_id, released_at: now(), released_by: by, reason }))
        released.push(estop_id)
    logger.warn({ estops: released, reason, by }, 'e-stops released here')
    this.#notify()
    return released
  }

  /**
   * Stops in force. A device that is not known to be at rest is listed once, at the first stop that
   * covers it.
   */
  listStops(): LatchedStop[] {
    const failed = this.#listFailed()
    return this.#parts.latch
      .list()
      .map(stop => ({ ...stop, failed: failed.get(stop.estop_id) ?? [] }))
  }

  listReleased(): ReturnType<EstopLatch['listReleased']> {
    return this.#parts.latch.listReleased()
  }

  /** Repeats the stop of devices that failed; call it every few seconds. */
  async retry(): Promise<void> {
    await this.#stopper.retry()
    this.#notify()
  }

  /**
   * Site of a device, or its last one: a broker may withdraw a device whose verb runs. Every command
   * asks for a stop before it runs, so that its site is known then.
   */
  #findSite(deviceId: string): string | null {
    const device = this.#cell.devices.listDevices().find(one => one.deviceId === deviceId)
    if (device === undefined) return this.#lastSites.get(deviceId) ?? null
    this.#lastSites.delete(deviceId)
    const [oldest] = this.#lastSites.keys()
    if (oldest !== undefined && this.#lastSites.size >= MAX_DEVICES) this.#lastSites.delete(oldest)
    this.#lastSites.set(deviceId, device.site)
    return device.site
  }

  async #stopDevices(): Promise<void> {
    await this.#stopper.stopAll()
    this.#notify()
  }

  async #handleChange(): Promise<void> {
    if (this.#parts.latch.list().length === 0) return
    const hasObserved = this.#stopper.observe()
    if ((await this.#stopper.stopReturned()) || hasObserved) this.#notify()
  }

  #createStopper(): DeviceStopper {
    const { latch, logger, wait } = this.#parts
    const { cellId, devices } = this.#cell
    const listEstopIds = (device: StoppableDevice): string[] => {
      const stops = latch.list().filter(stop => coversDevice(stop, { cellId, ...device }))
      return stops.map(({ estop_id }) => estop_id)
    }
    return new DeviceStopper({
      devices,
      isCovered: device => latch.findCovering({ cellId, ...device }) !== undefined,
      mayBeOrdered: device => listEstopIds(device).every(id => this.#earlier.has(id)),
      listEstopIds,
      onChange: () => this.#notify(),
      logger,
      ...(wait && { wait }),
    })
  }

  /** Covered devices that are not known to be at rest, by the first stop that covers each. */
  #listFailed(): Map<string, LatchedStop['failed']> {
    const { cellId, devices } = this.#cell
    const failed = new Map<string, LatchedStop['failed']>()
    for (const device of devices.listDevices()) {
      const { estop_id: id } = this.#parts.latch.findCovering({ cellId, ...device }) ?? {}
      const reason = this.#stopper.findFailure(device.deviceId)
      if (id === undefined || reason === undefined) continue
      failed.set(id, [...(failed.get(id) ?? []), { device_id: device.deviceId, reason }])
    }
    return failed
  }

  #notify(): void {
    for (const listener of this.#listeners) listener()
  }
}
