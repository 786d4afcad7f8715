import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import { DeviceFacts, MAX_DEVICES } from '../../shared/wire/device.ts'
import { toDeviceFacts } from './device-facts.ts'
import type { DeviceHost } from './device-host.ts'

const ListedDevice = DeviceFacts.omit({ envelope: true }).extend({
  /** Time of the newest sign of life, in unix milliseconds; null before the first. */
  seen_at: z.int().nullable(),
})
export type ListedDevice = z.infer<typeof ListedDevice>

/** Devices of this cell for programs on the same machine; written again and again by the daemon. */
const DeviceList = z.object({
  /** Unix milliseconds. */
  written_at: z.int(),
  devices: z.array(ListedDevice).max(MAX_DEVICES),
})
export type DeviceList = z.infer<typeof DeviceList>

const fileOf = (stateDir: string): string => join(stateDir, 'devices.json')

export const listDevices = (host: Pick<DeviceHost, 'listDevices'>, now: number): DeviceList => ({
  written_at: now,
  devices: host.listDevices().map(hosted => {
    const { envelope, ...facts } = toDeviceFacts(hosted)
    return { ...facts, seen_at: hosted.link.readState(facts.device_id)?.seen_at ?? null }
  }),
})

/** Replaces the list. It need not survive a power cut: the next one follows soon. */
export const writeDeviceList = async (stateDir: string, list: DeviceList): Promise<void> => {
  const path = fileOf(stateDir)
  await writeFile(`${path}.new`, `${JSON.stringify(list)}\n`, { mode: 0o600 })
  await rename(`${path}.new`, path)
}

/** Reads the list; undefined when there is none, or none that this program knows. */
export const readDeviceList = async (stateDir: string): Promise<DeviceList | undefined> => {
  const text = await readFile(fileOf(stateDir), 'utf8').catch(() => 'null')
  try {
    return DeviceList.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}
