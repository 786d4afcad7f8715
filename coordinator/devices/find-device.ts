import { isCreatedDeviceId } from '../../devices/device-id.ts'
import { ShoalError } from '../../shared/errors.ts'
import type { Device } from './device.ts'

/** Devices that an error names at most. */
const MAX_NAMED = 10

const DEVICE_PREFIX = 'dev_'

/** Fewest characters after `dev_` that stand for a device which is to be changed. */
const MIN_PREFIX = 8

type Match = (device: Device, reference: string) => boolean

/**
 * Finds a device by its id, its whole name, or a long beginning of its generated id with the kind.
 * Nothing else is accepted: once `arm-right` or `101` is gone, a repeated command for `arm` or `101`
 * would move `arm-left` or the device with the id `dev_101…`. Throws
 * `not_found` with the devices that may be meant, and `conflict` for an ambiguous reference.
 */
export const findDevice = (devices: readonly Device[], reference: string): Device => {
  const found = findFirst(devices, reference, [isSameId, isWholeNameOrIdPrefix])
  if (found !== undefined) return found
  const similar = devices.filter(device => isSimilar(device, reference))
  const hint = similar.length === 0 ? '' : `; write the whole name or an id: ${nameAll(similar)}`
  throw new ShoalError('not_found', `no device ${reference}${hint}`, { param: 'device_id' })
}

/**
 * Finds a device that is to be read or brought to rest: as `findDevice`, or by a beginning of its
 * name in either case that no other device has, so that a stop never fails for want of a whole name.
 * Throws `not_found`, and `conflict` with the matches for an ambiguous reference.
 */
export const findSimilarDevice = (devices: readonly Device[], reference: string): Device => {
  const found = findFirst(devices, reference, [isSameId, hasName, hasNameInAnyCase, isSimilar])
  if (found !== undefined) return found
  throw new ShoalError('not_found', `no device ${reference}`, { param: 'device_id' })
}

/** Tries the matches from the most exact one; a later one only when no device matches the earlier ones. */
const findFirst = (
  devices: readonly Device[],
  reference: string,
  matches: readonly Match[],
): Device | undefined => {
  for (const isMatch of matches) {
    const found = devices.filter(device => isMatch(device, reference))
    if (found.length === 0) continue
    if (found.length === 1) return found[0]
    throw new ShoalError(
      'conflict',
      `${reference} matches ${found.length} devices: ${nameAll(found)}; use an id`,
      { param: 'device_id' },
    )
  }
  return undefined
}

const isSameId: Match = ({ id }, reference) => id === reference

const hasName: Match = ({ facts }, reference) => facts.name === reference

const hasNameInAnyCase: Match = ({ facts }, reference) =>
  facts.name.toLowerCase() === reference.toLowerCase()

const isWholeNameOrIdPrefix: Match = (device, reference) =>
  hasName(device, reference) || (isCreatedDeviceId(device.id) && hasIdPrefix(device, reference))

const hasIdPrefix: Match = ({ id }, reference) =>
  reference.startsWith(DEVICE_PREFIX) &&
  reference.length >= DEVICE_PREFIX.length + MIN_PREFIX &&
  id.startsWith(reference)

const isSimilar: Match = ({ id, facts }, reference) =>
  facts.name.toLowerCase().startsWith(reference.toLowerCase()) ||
  id.startsWith(reference) ||
  id.startsWith(DEVICE_PREFIX + reference)

const nameAll = (devices: readonly Device[]): string => {
  const named = devices.slice(0, MAX_NAMED).map(({ id, facts }) => `${facts.name} (${id})`)
  const more = devices.length > named.length ? ` and ${devices.length - named.length} more` : ''
  return `${named.join(', ')}${more}`
}
