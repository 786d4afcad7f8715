import type { Announce } from '../../shared/wire/announce.ts'
import type { VerbFacts } from '../../shared/wire/command.ts'

/**
 * Verbs of a device that a cell announces, by its profile; otherwise those of the cell, which
 * refuses a device that it does not have.
 */
export const listVerbs = (
  { verbs = [], devices = [], device_profiles = [] }: Announce,
  deviceId: string | undefined,
): readonly VerbFacts[] => {
  const device = devices.find(({ device_id }) => device_id === deviceId)
  const profile = device_profiles.find(({ profile }) => profile === device?.profile)
  return profile?.verbs ?? verbs
}
