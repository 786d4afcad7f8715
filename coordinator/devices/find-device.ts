import { ShoalError } from '../../shared/errors.ts'
import type { Device } from './device.ts'

/** Devices that an error names at most. */
const MAX_NAMED = 10

const DEVICE_PREFIX = 'dev_'

/**
 * Finds a device by its id, its name, or a beginning of either that no other device has. Throws
 * `not_found`, and `conflict` with the matches for an ambiguous reference.
 */
export const findDevice = (devices: readonly Device[], reference: string): Device => {
  for (const isMatch of MATCHES) {
    const [first, ...others] = devices.filter(device => isMatch(device, reference))
    if (first === undefined) continue
    if (others.length === 0) return first
    throw new ShoalError('conflict', describeMatches(reference, [first, ...others]), {
      param: 'device_id',
    })
  }
  throw new ShoalError('not_found', `no device ${reference}`, { param: 'device_id' })
}

/** From the most exact one; a later one is tried only when no device matches the earlier ones. */
const MATCHES: readonly ((device: Device, reference: string) => boolean)[] = [
  ({ id }, reference) => id === reference,
  ({ facts }, reference) => facts.name === reference,
  ({ facts }, reference) => facts.name.toLowerCase() === reference.toLowerCase(),
  ({ id, facts }, reference) =>
    facts.name.toLowerCase().startsWith(reference.toLowerCase()) ||
    id.startsWith(reference) ||
    id.startsWith(DEVICE_PREFIX + reference),
]

const describeMatches = (reference: string, matches: readonly Device[]): string => {
  const named = matches.slice(0, MAX_NAMED).map(({ id, facts }) => `${facts.name} (${id})`)
  const more = matches.length > named.length ? ` and ${matches.length - named.length} more` : ''
  return `${reference} matches ${matches.length} devices: ${named.join(', ')}${more}; use an id`
}
