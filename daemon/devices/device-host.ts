import type { Logger } from 'pino'
import type { DeviceLink, LinkedDevice } from '../../devices/device-link.ts'
import type { SourcedEnvelope } from '../../devices/envelope/merge-envelopes.ts'
import { isMqttLink, type LinkedBroker } from '../../devices/mqtt/linked-broker.ts'
import { wait } from '../../shared/wait.ts'
import { type DeviceState, MAX_DEVICES } from '../../shared/wire/device.ts'
import type { ReceivedEnvelopes, SafetyEnvelope } from '../../shared/wire/safety-envelope.ts'
import type { DeviceVerbs, RecoveredRest, Verb } from '../commands/verb.ts'
import type { DevicesConfig } from './config.ts'
import { DeviceRuns } from './device-runs.ts'
import { createDeviceVerb } from './device-verb.ts'
import type { HostedDevice } from './hosted-device.ts'
import { brakingOf } from './rest/braking.ts'
import type { StopOrder } from './rest/pending-stop.ts'
import { RestKeeper } from './rest/rest-keeper.ts'
import type { StopFile } from './rest/stop-file.ts'
import type { DeviceVerbContext, FindEstopResponse } from './run-device-verb.ts'

interface DeviceHostParts {
  config: Pick<DevicesConfig, 'site' | 'envelope'>
  links: readonly DeviceLink[]
  /** Limits that the coordinator has set. */
  envelopes?: ReceivedEnvelopes
  /** Keeps the stops that are not confirmed; in memory only when absent. */
  stopFile?: StopFile
  /** Response of an e-stop to a held device, which takes no other orders. */
  findEstopResponse?: FindEstopResponse
  /** Time for a device to come to rest before its stop counts as unconfirmed, in milliseconds. */
  restMs?: number
  /** The same for one that an earlier run of the daemon left in motion. */
  recoverMs?: number
  /** Time between two orders to a device that is not at rest, in milliseconds. */
  repeatMs?: number
  /** Unix milliseconds. */
  now: () => number
  /** Monotonic clock, in milliseconds. */
  nowMs: () => number
  logger: Pick<Logger, 'info' | 'warn'>
}

/** Time for the link to a device to be back after a start, and for the device to come to rest. */
const RECOVER_MS = 30_000
/** Most time for devices to come to rest at the end of the daemon. */
const REST_MS = 2000

/** The devices of this cell: reached by its links, within the limits of all sources. */
export class DeviceHost implements DeviceVerbs {
  /** Verbs that run on the devices. */
  readonly runs: DeviceRuns
  /** Keeps devices at rest that were told to stop. */
  readonly keeper: RestKeeper
  /** Unix milliseconds. */
  readonly now: () => number
  readonly #parts: DeviceHostParts
  readonly #context: DeviceVerbContext
  #envelopes: ReceivedEnvelopes
  /** Ids that were left out and logged. */
  readonly #omitted = new Set<string>()

  constructor(parts: DeviceHostParts) {
    this.#parts = parts
    this.#envelopes = parts.envelopes ?? {}
    this.runs = new DeviceRuns(parts.nowMs)
    this.now = parts.now
    this.keeper = this.#createKeeper()
    this.#context = {
      runs: this.runs,
      keeper: this.keeper,
      ...(parts.findEstopResponse && { findEstopResponse: parts.findEstopResponse }),
      now: parts.now,
      countRecent: deviceId => this.runs.countRecent(deviceId),
      areLimitsReadable: () => this.#envelopes !== 'unreadable',
      listPeers: ({ device, site }) =>
        this.listDevices().filter(
          other => other.site === site && other.device.deviceId !== device.deviceId,
        ),
    }
  }

  /** Begins to connect to the devices. The signal ends everything once the devices are at rest. */
  start(signal: AbortSignal): void {
    const over = new AbortController()
    for (const link of this.#parts.links) link.start(over.signal)
    void this.keeper.load()
    const end = () =>
      void this.#waitForRest().finally(() => {
        this.keeper.close()
        over.abort()
      })
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  }

  /** Lists the devices. Of two with the same id, that of the first link counts. */
  listDevices(): HostedDevice[] {
    const byId = new Map<string, HostedDevice>()
    for (const link of this.#parts.links)
      for (const device of link.list())
        if (byId.has(device.deviceId)) this.#omit(device, 'another link has a device of its id')
        else if (byId.size >= MAX_DEVICES) this.#omit(device, `a cell has ${MAX_DEVICES} devices`)
        else byId.set(device.deviceId, this.#host(device, link))
    return [...byId.values()]
  }

  find(deviceId: string): HostedDevice | undefined {
    return this.listDevices().find(({ device }) => device.deviceId === deviceId)
  }

  findName(deviceId: string): string | undefined {
    return this.find(deviceId)?.device.name
  }

  /**
   * Verb of a device, with the limits in force now. `companions` move by the same plan, which keeps
   * its own distances between them.
   */
  findVerb(
    deviceId: string,
    name: string,
    companions: ReadonlySet<string> = new Set(),
  ): Verb | undefined {
    const hosted = this.find(deviceId)
    if (hosted === undefined) return undefined
    const { verbs } = hosted.device.profile
    const verb = Object.hasOwn(verbs, name) ? verbs[name] : undefined
    const listPeers = (of: HostedDevice): HostedDevice[] =>
      this.#context.listPeers(of).filter(({ device }) => !companions.has(device.deviceId))
    return verb && createDeviceVerb(name, verb, hosted, { ...this.#context, listPeers })
  }

  /** Brings a device to rest that an earlier run of the daemon left in motion. */
  async recoverRest(deviceId: string): Promise<RecoveredRest> {
    const { atEstop = 'hold' } = this.find(deviceId)?.device.profile ?? {}
    const order: StopOrder = {
      deviceId,
      behaviour: brakingOf(atEstop),
      reason: 'the daemon ended while it moved',
      since: this.#parts.now(),
      isUnsent: true,
      isOwn: true,
    }
    const limit_ms = this.#parts.recoverMs ?? RECOVER_MS
    const { outcome, end } = await this.keeper.bringToRest(order, limit_ms)
    return { outcome, isTakenOver: end === 'taken_over' }
  }

  /** Brokers of the links that have one. */
  listBrokers(): LinkedBroker[] {
    return this.#parts.links.filter(isMqttLink).map(({ broker }) => broker)
  }

  /** Newest readings of all devices that have some. */
  listStates(): DeviceState[] {
    return this.listDevices().flatMap(({ device, link }) => link.readState(device.deviceId) ?? [])
  }

  /** Replaces the limits of the coordinator; plans made before no longer match. */
  setEnvelopes(envelopes: ReceivedEnvelopes): void {
    this.#envelopes = envelopes
  }

  /** Calls back when devices or their readings have changed. Returns how to stop that. */
  onChange(listener: () => void): () => void {
    const undo = [
      ...this.#parts.links.map(link => link.onChange(listener)),
      this.keeper.onChange(listener),
    ]
    return () => {
      for (const off of undo) off()
    }
  }

  #createKeeper(): RestKeeper {
    const {
      links,
      findEstopResponse: find = () => undefined,
      stopFile: file,
      ...parts
    } = this.#parts
    return new RestKeeper({
      ...parts,
      file,
      find: deviceId =>
        this.find(deviceId) ??
        this.runs.listDevices().find(({ device }) => device.deviceId === deviceId),
      isUnderOrder: id => this.runs.listRunning(id).length > 0 || find(id) !== undefined,
      onChange: listener => {
        const undo = links.map(link => link.onChange(listener))
        return () => {
          for (const off of undo) off()
        }
      },
    })
  }

  /** Running verbs were aborted, too: their links still bring the devices to rest. */
  async #waitForRest(): Promise<void> {
    const isOver = new AbortController()
    const atRest = this.runs.waitUntilIdle().then(() => isOver.abort())
    await Promise.race([atRest, wait(REST_MS, isOver.signal)])
  }

  #host(device: LinkedDevice, link: DeviceLink): HostedDevice {
    const site = device.site ?? this.#parts.config.site
    const unconfirmedStop = this.keeper.findUnconfirmed(device.deviceId)
    return {
      device,
      link,
      site,
      limits: this.#listLimits(device, site),
      ...(unconfirmedStop && { unconfirmedStop }),
    }
  }

  #listLimits(device: LinkedDevice, site: string | undefined): SourcedEnvelope[] {
    const { fleet, sites = {} } = this.#envelopes === 'unreadable' ? {} : this.#envelopes
    const ofSite = site !== undefined && Object.hasOwn(sites, site) ? sites[site] : undefined
    const given: [SourcedEnvelope['source'], SafetyEnvelope | undefined][] = [
      ['fleet', fleet],
      ['site', ofSite],
      ['cell', this.#parts.config.envelope],
      ['profile', device.profile.envelope],
      ['device', device.envelope],
    ]
    return given.flatMap(([source, envelope]) => (envelope ? [{ source, envelope }] : []))
  }

  #omit({ deviceId, name }: LinkedDevice, reason: string): void {
    if (this.#omitted.has(deviceId) || this.#omitted.size >= MAX_DEVICES) return
    this.#omitted.add(deviceId)
    this.#parts.logger.warn({ device: deviceId, name, reason }, 'device skipped')
  }
}
