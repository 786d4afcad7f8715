import { ShoalError } from '../../../shared/errors.ts'
import { DEVICE_ID } from '../../../shared/ids.ts'
import type { Device } from './device.table.ts'

/** Devices that an error names at most. */
const MAX_NAMED = 10

const DEVICE_PREFIX = 'dev_'

/** Fewest characters after `dev_` that stand for a device. */
const MIN_PREFIX = 8

type Match = (device: Device, reference: string) => boolean

/**
 * Finds the one device that a reference names: by its id, its whole name, or a long beginning of its
 * id with the kind. An id and a name that both match are two devices: none of them comes first, so
 * that nobody takes a device over by calling another one like it. A beginning of a name is refused:
 * once `arm-right` is gone, a repeated command for `arm` would move `arm-left`. Throws `not_found`
 * with the devices that may be meant, and `conflict` with the matches for an ambiguous reference.
 */
export const findDevice = (devices: readonly Device[], reference: string): Device => {
  const found = devices.filter(device => isNamedBy(device, reference))
  return requireOne(found, reference) ?? throwUnknown(devices, reference)
}

/**
 * Devices that a reference names, in any letter case of their names: what brings devices to rest
 * goes to all of them.
 */
export const matchEveryDevice = (devices: readonly Device[], reference: string): Device[] =>
  devices.filter(device => isNamedBy(device, reference) || hasNameInAnyCase(device, reference))

/** The same devices. Throws `not_found` where there is none, with those that may be meant. */
export const findEveryDevice = (
  devices: readonly Device[],
  reference: string,
): [Device, ...Device[]] => {
  const [first, ...others] = matchEveryDevice(devices, reference)
  return first === undefined ? throwUnknown(devices, reference) : [first, ...others]
}

/**
 * Finds the one device that is to be read: as `findDevice`, or by a beginning of its name or id in
 * either case that no other device has. Throws `not_found` and `conflict`.
 */
export const findReadDevice = (devices: readonly Device[], reference: string): Device => {
  for (const isMatch of [isNamedBy, hasNameInAnyCase, isSimilar]) {
    const found = devices.filter(device => isMatch(device, reference))
    const one = requireOne(found, reference)
    if (one !== undefined) return one
  }
  throw new ShoalError('not_found', `no device ${reference}`, { param: 'device_id' })
}

/** The only match; undefined where there is none. Throws `conflict` for several. */
const requireOne = (found: readonly Device[], reference: string): Device | undefined => {
  if (found.length <= 1) return found[0]
  throw new ShoalError(
    'conflict',
    `${reference} matches ${found.length} devices: ${nameAll(found)}; use an id`,
    { param: 'device_id', reason: 'device_ambiguous', next: 'shoal devices list' },
  )
}

const throwUnknown = (devices: readonly Device[], reference: string): never => {
  const similar = devices.filter(device => isSimilar(device, reference))
  const hint = similar.length === 0 ? '' : `; write the whole name or an id: ${nameAll(similar)}`
  throw new ShoalError('not_found', `no device ${reference}${hint}`, { param: 'device_id' })
}

const isNamedBy: Match = (device, reference) =>
  device.facts.name === reference || hasIdPrefix(device, reference)

const hasNameInAnyCase: Match = ({ facts }, reference) =>
  facts.name.toLowerCase() === reference.toLowerCase()

const hasIdPrefix: Match = ({ id }, reference) =>
  reference.startsWith(DEVICE_PREFIX) &&
  reference.length >= DEVICE_PREFIX.length + MIN_PREFIX &&
  DEVICE_ID.test(id) &&
  id.startsWith(reference)

const isSimilar: Match = ({ id, facts }, reference) =>
  facts.name.toLowerCase().startsWith(reference.toLowerCase()) ||
  id.startsWith(reference) ||
  id.startsWith(DEVICE_PREFIX + reference)

const nameAll = (devices: readonly Device[]): string => {
  const named = devices
    .slice(0, MAX_NAMED)
    .map(({ id, cellId, facts }) => `${facts.name} (${id} on ${cellId})`)
  const more = devices.length > named.length ? ` and ${devices.length - named.length} more` : ''
  return `${named.join(', ')}${more}`
}
