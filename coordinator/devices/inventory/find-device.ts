import {
  createAmbiguousError,
  createUnknownError,
  listCandidates,
} from '../../../shared/reference-errors.ts'
import {
  hasIdPrefix,
  hasLongIdPrefix,
  hasName,
  hasNameInAnyCase,
  hasNamePrefixInAnyCase,
  isEither,
  type Match,
} from '../../../shared/references.ts'
import type { Device } from './device.table.ts'

const KIND = 'device'

/**
 * Finds the one device that a reference names: by its id, its whole name, or a long beginning of its
 * id with the kind. An id and a name that both match are two devices: none of them comes first, so
 * that nobody takes a device over by calling another one like it. Throws `not_found` with the devices that may be meant, and `conflict` with the matches for an ambiguous reference.
 */
export const findDevice = (devices: readonly Device[], reference: string): Device => {
  const found = select(devices, reference, isNamedBy)
  return requireOne(found, reference) ?? throwUnknown(devices, reference)
}

/**
 * Devices that a reference names, in any letter case of their names: what brings devices to rest
 * goes to all of them.
 */
export const matchEveryDevice = (devices: readonly Device[], reference: string): Device[] =>
  select(devices, reference, isEither(isNamedBy, hasNameInAnyCase))

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
    const one = requireOne(select(devices, reference, isMatch), reference)
    if (one !== undefined) return one
  }
  throw createUnknownError(KIND, reference)
}

/** A whole name, or a long beginning of an id with its kind. */
const isNamedBy = isEither(hasName, hasLongIdPrefix)

const isSimilar = isEither(hasNamePrefixInAnyCase, hasIdPrefix)

const select = (devices: readonly Device[], reference: string, isMatch: Match): Device[] =>
  devices.filter(({ id, facts: { name } }) => isMatch({ id, name }, reference))

/** The only match; undefined where there is none. Throws `conflict` for several. */
const requireOne = (found: readonly Device[], reference: string): Device | undefined => {
  if (found.length <= 1) return found[0]
  const candidates = { count: found.length, candidates: nameAll(found) }
  throw createAmbiguousError(KIND, reference, candidates)
}

const throwUnknown = (devices: readonly Device[], reference: string): never => {
  const candidates = nameAll(select(devices, reference, isSimilar))
  throw createUnknownError(KIND, reference, { candidates })
}

const nameAll = (devices: readonly Device[]): string =>
  listCandidates(
    devices.map(({ id, facts: { name } }) => ({ id, name })),
    at => `on ${devices[at]?.cellId}`,
  )
