import type { Announce } from '../../shared/wire/announce.ts'
import type { VerbFacts } from '../../shared/wire/command.ts'

/** Verbs for a device of a cell, those of its profile first, or for the cell itself. */
export const listVerbs = (
  { verbs = [], devices = [], device_profiles = [] }: Announce,
  deviceId: string | undefined,
): readonly VerbFacts[] => {
  const device = devices.find(({ device_id }) => device_id === deviceId)
  const profile = device_profiles.find(({ profile }) => profile === device?.profile)
  return profile === undefined ? verbs : [...profile.verbs, ...verbs]
}
