import * as z from 'zod'
import { DeviceKind, DeviceProfileFacts } from '../../../../../shared/wire/device.ts'
import type { FleetViews } from '../../../../fleet/cells/open.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { DeviceViews } from '../../open.ts'

/** Profiles of one answer; the product ships far fewer. */
const MOST = 200

export default defineOperation({
  id: 'devices-profiles',
  description: 'List the device profiles of the fleet with their properties and commands.',
  method: 'GET',
  path: '/v1/device-profiles',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({
    kind: DeviceKind.exactOptional().describe('Only profiles of this kind of device.'),
  }),
  output: z.object({
    /** Profiles of the connected cells, by id. */
    profiles: z.array(DeviceProfileFacts.extend({ devices: z.int().describe('Devices with it.') })),
  }),
  run: ({ kind }, context: DeviceViews & FleetViews) => {
    const counts = countDevices(context)
    const profiles = listProfiles(context).filter(one => kind === undefined || one.kind === kind)
    return {
      profiles: profiles
        .slice(0, MOST)
        .map(one => ({ ...one, devices: counts.get(one.profile) ?? 0 })),
    }
  },
})

/** Cells may run several versions of a profile; the first one that is found counts. */
const listProfiles = ({ fleet }: Pick<FleetViews, 'fleet'>): DeviceProfileFacts[] => {
  const byId = new Map<string, DeviceProfileFacts>()
  for (const { announce } of fleet.cells())
    for (const profile of announce?.device_profiles ?? [])
      if (!byId.has(profile.profile)) byId.set(profile.profile, profile)
  return [...byId.values()].sort((a, b) => (a.profile < b.profile ? -1 : 1))
}

const countDevices = ({ devices }: Pick<DeviceViews, 'devices'>): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const { facts } of devices.list())
    counts.set(facts.profile, (counts.get(facts.profile) ?? 0) + 1)
  return counts
}
