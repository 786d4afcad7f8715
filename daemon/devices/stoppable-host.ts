import { isRestObservable, RestObserver } from '../../devices/rest-observer.ts'
import type { EstopBehaviour } from '../../shared/wire/device.ts'
import { NOTHING_SEEN } from '../../shared/wire/device-outcome.ts'
import type { StoppableDevices } from '../estop/stoppable-devices.ts'
import type { DeviceHost } from './device-host.ts'
import type { HostedDevice } from './hosted-device.ts'

type StoppableHost = Pick<DeviceHost, 'listDevices' | 'onChange' | 'runs' | 'now'>

/** The devices of a host as an e-stop sees them: also one that was withdrawn while a verb runs. */
export const createStoppableDevices = (host: StoppableHost): StoppableDevices => ({
  listDevices: () =>
    listReached(host).map(({ device, site = null }) => ({
      deviceId: device.deviceId,
      name: device.name,
      site,
      isAvailable: device.available,
      atEstop: behaviourOf(device, host.runs.listRunning(device.deviceId)),
    })),
  onChange: listener => host.onChange(listener),
  stopDevice: async (deviceId, behaviour, context) => {
    if (behaviour === 'none') return NOTHING_SEEN
    const hosted = findReached(host, deviceId)
    if (hosted === undefined) throw new Error('the device is gone')
    return hosted.link.stop(deviceId, behaviour, context)
  },
  createObserver: (deviceId, behaviour) => {
    const hosted = findReached(host, deviceId)
    if (behaviour === 'none' || hosted === undefined || !isRestObservable(hosted.device.profile))
      return undefined
    const { device, link } = hosted
    const { profile } = device
    const readState = () => link.readState(deviceId)
    const observer = new RestObserver({ deviceId, profile, behaviour, readState, now: host.now })
    return () => observer.look()
  },
})

const findReached = (host: StoppableHost, deviceId: string): HostedDevice | undefined =>
  listReached(host).find(({ device }) => device.deviceId === deviceId)

const listReached = (host: StoppableHost): HostedDevice[] => {
  const listed = host.listDevices()
  const ids = new Set(listed.map(({ device }) => device.deviceId))
  return [...listed, ...host.runs.listDevices().filter(({ device }) => !ids.has(device.deviceId))]
}

/** Behaviour of the verb that was started last, of those that an e-stop affects, or of the profile. */
const behaviourOf = (
  { profile: { atEstop, verbs } }: HostedDevice['device'],
  running: readonly string[],
): EstopBehaviour =>
  running.map(name => verbs[name]?.atEstop ?? 'none').findLast(found => found !== 'none') ?? atEstop
