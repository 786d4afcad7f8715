import { isDeepStrictEqual } from 'node:util'
import type { Announce } from '../../../shared/wire/announce.ts'
import { FIRST_CAPABILITY, NEEDS } from '../../../shared/wire/capability.ts'
import type { DeviceClaim } from './device-cell.table.ts'

/** Devices that a cell announces, by id; `since` holds for those that are new. */
export const listClaims = (
  cellId: string,
  { devices = [], device_profiles = [] }: Pick<Announce, 'devices' | 'device_profiles'>,
  since: number,
): Map<string, DeviceClaim> => {
  const kinds = new Map(device_profiles.map(({ profile, kind }) => [profile, kind]))
  return new Map(
    devices.map(facts => [
      facts.device_id,
      { cellId, since, kind: kinds.get(facts.profile) ?? 'other', facts },
    ]),
  )
}

/**
 * Claims of a daemon that has been replaced by one that knows no devices: they stay, so that their
 * labels and history do, and are not available.
 */
export const suspendClaims = (
  known: ReadonlyMap<string, DeviceClaim>,
  { capability = FIRST_CAPABILITY }: Pick<Announce, 'capability'>,
): Map<string, DeviceClaim> => {
  const reason = `the daemon has capability level ${capability}, and devices need level ${NEEDS.devices}`
  return new Map(
    [...known].map(([id, claim]) => [
      id,
      { ...claim, facts: { ...claim.facts, available: false, reason } },
    ]),
  )
}

export const knowsDevices = ({
  capability = FIRST_CAPABILITY,
}: Pick<Announce, 'capability'>): boolean => capability >= NEEDS.devices

/** The claims that are new, or differ from the stored ones. */
export const listChangedClaims = (
  known: ReadonlyMap<string, DeviceClaim>,
  claims: ReadonlyMap<string, DeviceClaim>,
): DeviceClaim[] =>
  [...claims].flatMap(([id, claim]) => {
    const before = known.get(id)
    return before?.kind === claim.kind && isDeepStrictEqual(before.facts, claim.facts)
      ? []
      : [claim]
  })
