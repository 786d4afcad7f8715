import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type CheckReport, type CheckSubject, type DoctorCheck, ok, warn } from './check.ts'

/*
 * Radios with which a cell can look around, as Linux shows them below /sys/class (kernel:
 * Documentation/ABI/stable/sysfs-class-rfkill, Documentation/ABI/testing/sysfs-class-bluetooth and
 * sysfs-class-net). A machine without one is a good cell all the same.
 */

interface Radio {
  name: string
  /** Folder with the `rfkill…` folders of its switches. */
  folder: string
}

/** Bluetooth LE: Linux names every supported adapter hci0 and up. */
export const bluetooth: DoctorCheck = async ({ sysFolder }) => {
  const names = (await namesIn(join(sysFolder, 'class/bluetooth'))).filter(name =>
    /^hci\d+$/.test(name),
  )
  const radios = names.map(name => ({ name, folder: join(sysFolder, 'class/bluetooth', name) }))
  return findingOf(radios, 'no Bluetooth adapter: this cell finds no BLE devices', 'bluetooth')
}

export const wifi: DoctorCheck = async ({ sysFolder }: CheckSubject) => {
  const folder = join(sysFolder, 'class/net')
  const radios = (await namesIn(folder))
    .filter(name => ['phy80211', 'wireless'].some(mark => existsSync(join(folder, name, mark))))
    .map(name => ({ name, folder: join(folder, name, 'phy80211') }))
  return findingOf(radios, 'no wifi adapter: this cell sees no wifi networks', 'wifi')
}

const findingOf = async (radios: Radio[], none: string, kind: string): Promise<CheckReport> => {
  if (radios.length === 0) return ok(none)
  const states = await Promise.all(
    radios.map(async radio => ({ ...radio, off: await findBlock(radio) })),
  )
  const names = states.map(({ name, off }) => (off === undefined ? name : `${name} (${off})`))
  const says = names.join(', ')
  if (states.some(({ off }) => off === undefined)) return ok(says)
  const remedy = states.every(({ off }) => off === BY_HAND)
    ? 'turn on its switch or key on the machine, or in its firmware'
    : `rfkill unblock ${kind}`
  return warn(`${says}: it finds nothing`, remedy)
}

const BY_HAND = 'switched off by hand'

/** Reason why a radio is blocked; undefined when it is not. */
const findBlock = async ({ folder }: Radio): Promise<string | undefined> => {
  const switches = (await namesIn(folder)).filter(name => /^rfkill\d+$/.test(name))
  for (const name of switches) {
    if (await isSet(join(folder, name, 'hard'))) return BY_HAND
    if (await isSet(join(folder, name, 'soft'))) return 'switched off by software'
  }
  return undefined
}

const isSet = async (file: string): Promise<boolean> =>
  (await readFile(file, 'utf8').catch(() => '')).trim() === '1'

/** Names in a folder, sorted; none where the kernel has no such class. */
const namesIn = async (folder: string): Promise<string[]> =>
  (await readdir(folder).catch(() => [])).toSorted()
