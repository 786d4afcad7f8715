import type { DeviceVerbs, Verb } from '../../daemon/commands/verb.ts'

/** Devices of which each supports all of these verbs. */
export const devicesWith = (
  listVerbs: () => readonly Verb[],
  hasDevice: (deviceId: string) => boolean = () => true,
): DeviceVerbs => ({
  findName: deviceId => (hasDevice(deviceId) ? `name of ${deviceId}` : undefined),
  findVerb: (deviceId, name) =>
    hasDevice(deviceId) ? listVerbs().find(({ verb }) => verb === name) : undefined,
})
