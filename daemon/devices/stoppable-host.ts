import type { EstopBehaviour } from '../../shared/wire/device.ts'
import type { StoppableDevices } from '../estop/stoppable-devices.ts'
import type { DeviceHost } from './device-host.ts'
import type { HostedDevice } from './hosted-device.ts'

/** The devices of a host as an e-stop sees them. */
export const createStoppableDevices = (
  host: Pick<DeviceHost, 'listDevices' | 'find' | 'runs'>,
): StoppableDevices => ({
  listDevices: () =>
    host.listDevices().map(({ device, site = null }) => ({
      deviceId: device.deviceId,
      name: device.name,
      site,
      atEstop: behaviourOf(device, host.runs.listRunning(device.deviceId)),
    })),
  stopDevice: async (deviceId, behaviour) => {
    if (behaviour === 'none') return
    const hosted = host.find(deviceId)
    if (hosted === undefined) throw new Error('the device is gone')
    await hosted.link.stop(deviceId, behaviour)
  },
})

/** Behaviour of the verb that was started last, of those that an e-stop affects, or of the profile. */
const behaviourOf = (
  { profile: { atEstop, verbs } }: HostedDevice['device'],
  running: readonly string[],
): EstopBehaviour =>
  running.map(name => verbs[name]?.atEstop ?? 'none').findLast(found => found !== 'none') ?? atEstop
