import { CommandFailure } from '../commands/outcome.ts'
import type { HostedDevice } from './hosted-device.ts'

interface PresenceWatch {
  /** Aborts once the device was stopped, or did not confirm that. */
  signal: AbortSignal
  stop(): void
}

/**
 * Watches that the link of a device still lists it while one of its verbs runs. A device that is
 * withdrawn is stopped as its profile says before the verb ends: nobody finds it by its id any more.
 */
export const watchPresence = ({ device, link }: HostedDevice): PresenceWatch => {
  const { deviceId, name, profile } = device
  const gone = new AbortController()
  const failure = new CommandFailure(
    'device_withdrawn',
    `${name} (${deviceId}) was withdrawn by its source while this ran; it was told to stop`,
  )
  const look = (): void => {
    if (link.list().some(one => one.deviceId === deviceId)) return
    stop()
    link
      .stop(deviceId, profile.atEstop)
      .catch(() => {})
      .finally(() => gone.abort(failure))
  }
  const stop = link.onChange(look)
  return { signal: gone.signal, stop }
}
