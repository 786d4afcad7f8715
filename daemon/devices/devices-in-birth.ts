import type { Logger } from 'pino'
import * as z from 'zod'
import { firstIssue } from '../../shared/first-issue.ts'
import type { Announce } from '../../shared/wire/announce.ts'
import { DeviceFacts, DeviceProfileFacts, MAX_PROFILES } from '../../shared/wire/device.ts'
import { MAX_PACKET_BYTES } from '../../shared/wire/topics.ts'
import { toDeviceFacts, toProfileFacts } from './device-facts.ts'
import type { DeviceHost } from './device-host.ts'
import type { HostedDevice } from './hosted-device.ts'

/** Room for the envelope of the message and for what changes between two births. */
const SPARE_BYTES = 8 * 1024

const Facts = z.object({
  device_profiles: z.array(DeviceProfileFacts),
  devices: z.array(DeviceFacts),
})
type DevicesOfBirth = z.infer<typeof Facts>

/**
 * Describes the devices of a cell for its birth. A device that does not fit into one packet with the
 * others, or that the coordinator would refuse, is left out and logged once: it must not keep the
 * whole cell from being announced.
 */
export class DevicesInBirth {
  readonly #host: Pick<DeviceHost, 'listDevices'>
  readonly #logger: Pick<Logger, 'warn'>
  /** Devices that were left out at the last birth, by id, with the reason. */
  #omitted = new Map<string, string>()

  constructor(host: Pick<DeviceHost, 'listDevices'>, logger: Pick<Logger, 'warn'>) {
    this.#host = host
    this.#logger = logger
  }

  /** Adds the devices to the other facts of a cell. */
  addTo(announce: Announce): Announce {
    const devices = this.#host.listDevices()
    if (devices.length === 0) return { ...announce, device_profiles: [], devices: [] }
    return { ...announce, ...this.#select(devices, sizeOf(announce)) }
  }

  #select(devices: readonly HostedDevice[], otherBytes: number): DevicesOfBirth {
    const selected: DevicesOfBirth = { device_profiles: [], devices: [] }
    const omitted = new Map<string, string>()
    let room = MAX_PACKET_BYTES - SPARE_BYTES - otherBytes
    for (const hosted of devices) {
      const added = describe(hosted, selected)
      const fault = findFault(added, selected, room)
      if (fault !== undefined) {
        omitted.set(hosted.device.deviceId, fault)
        continue
      }
      room -= sizeOf(added)
      selected.devices.push(...added.devices)
      selected.device_profiles.push(...added.device_profiles)
    }
    this.#noteOmitted(omitted)
    return selected
  }

  #noteOmitted(omitted: Map<string, string>): void {
    for (const [device, reason] of omitted)
      if (this.#omitted.get(device) !== reason)
        this.#logger.warn({ device, reason }, 'device not announced')
    this.#omitted = omitted
  }
}

/** The device, and its profile where no device before it has that one. */
const describe = (hosted: HostedDevice, { device_profiles }: DevicesOfBirth): DevicesOfBirth => {
  const { profile } = hosted.device
  const isKnown = device_profiles.some(one => one.profile === profile.id)
  return {
    devices: [toDeviceFacts(hosted)],
    device_profiles: isKnown ? [] : [toProfileFacts(profile)],
  }
}

/** Reason why the coordinator would refuse the birth with these devices; undefined otherwise. */
const findFault = (
  added: DevicesOfBirth,
  { device_profiles }: DevicesOfBirth,
  room: number,
): string | undefined => {
  const parsed = Facts.safeParse(added)
  if (!parsed.success) return firstIssue(parsed.error).message
  if (device_profiles.length + added.device_profiles.length > MAX_PROFILES)
    return `a cell announces at most ${MAX_PROFILES} profiles`
  return sizeOf(added) > room ? 'the birth of the cell would be too large' : undefined
}

const sizeOf = (value: object): number => Buffer.byteLength(JSON.stringify(value))
