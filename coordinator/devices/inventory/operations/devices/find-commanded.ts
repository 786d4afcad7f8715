import { ShoalError } from '../../../../../shared/errors.ts'
import type { DeviceVerbFacts } from '../../../../../shared/wire/device.ts'
import type { Device } from '../../device.table.ts'
import type { Devices } from '../../devices.ts'

interface Parts {
  devices: Pick<Devices, 'find' | 'findEvery' | 'profile'>
}

/** A device that a reference names, and why it does not get an urgent command. */
export interface LeftOut {
  device: Device
  reason: string
}

/** Devices that a command is for: one, or every one that a reference names where it is urgent. */
export interface CommandedDevices {
  isUrgent: boolean
  devices: [Device, ...Device[]]
  /** Devices of the same name for which the command is none that brings them to rest. */
  leftOut: readonly LeftOut[]
}

/** Commands that bring a device to rest in every profile of shoal. */
const HALTS: ReadonlySet<string> = new Set(['stop', 'hold', 'land'])

/**
 * Finds the devices of a command. What is urgent is for every device that the reference names, in any
 * letter case; anything else is for exactly one. Throws `not_found`, and `conflict` for several.
 */
export const findCommandedDevices = (
  reference: string,
  command: string,
  { devices }: Parts,
): CommandedDevices => {
  const all = devices.findEvery(reference)
  const [first, ...others] = all.filter(device => isUrgentOn(device, command, devices))
  const isAgreed = HALTS.has(command) || others.length + 1 === all.length
  // a cell that calls its own verb urgent must not pull a command of other devices to itself
  if (first === undefined || !isAgreed)
    return { isUrgent: false, devices: [devices.find(reference)], leftOut: [] }
  const sent = [first, ...others]
  const leftOut = all
    .filter(device => !sent.includes(device))
    .map(device => ({
      device,
      reason: `${command} does not bring ${device.facts.name} to rest; its profile has no urgent command of this name`,
    }))
  return { isUrgent: true, devices: [first, ...others], leftOut }
}

/**
 * True for what the profile of a device announces as urgent: it can only reduce risk. While no
 * profile is known here, nothing can be sent, and the refusal of a halt must say that alone.
 */
const isUrgentOn = (
  { cellId, alsoOn, facts }: Device,
  command: string,
  devices: Parts['devices'],
): boolean => {
  const profiles = [cellId, ...alsoOn].map(one => devices.profile({ cellId: one, facts }))
  const profile = profiles.find(one => one !== undefined)
  if (profile === undefined) return HALTS.has(command)
  return profile.verbs.some(({ verb, urgent }) => verb === command && urgent === true)
}

/** Facts of a command of a device. Throws `invalid_request` for one that it does not know. */
export const requireVerb = (
  { facts }: Device,
  verbs: readonly DeviceVerbFacts[],
  command: string,
): DeviceVerbFacts => {
  const found = verbs.find(({ verb }) => verb === command)
  if (found !== undefined) return found
  const known = verbs.map(({ verb }) => verb).join(', ')
  throw new ShoalError(
    'invalid_request',
    `${facts.name} has no command ${command}; its commands are ${known}`,
    { param: 'command' },
  )
}
