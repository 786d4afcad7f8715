import type { Hazard } from '../../shared/wire/command.ts'
import { CommandFailure } from '../commands/outcome.ts'
import type { HostedDevice } from './hosted-device.ts'

interface PresenceWatch {
  /** Aborts once the device was stopped, or did not confirm that, or needs no stop. */
  signal: AbortSignal
  stop(): void
}

/**
 * Watches that the link of a device lists it while one of its verbs runs. A device that is withdrawn
 * is stopped as its profile says before the verb ends: nobody finds it by its id any more. Nothing
 * is stopped for a verb that only reads, or that has not begun.
 */
export const watchPresence = ({ device, link }: HostedDevice, hazard: Hazard): PresenceWatch => {
  const { deviceId, name, profile } = device
  const gone = new AbortController()
  const isListed = (): boolean => link.list().some(one => one.deviceId === deviceId)
  const end = (detail: string): void =>
    gone.abort(
      new CommandFailure(
        'device_withdrawn',
        `${name} (${deviceId}) was withdrawn by its source ${detail}`,
      ),
    )
  const look = (): void => {
    if (isListed()) return
    stop()
    if (hazard === 'read') end('while this ran')
    else
      link
        .stop(deviceId, profile.atEstop)
        .catch(() => {})
        .finally(() => end('while this ran; a stop was ordered'))
  }
  const stop = link.onChange(look)
  if (!isListed()) {
    stop()
    end('before this began')
  }
  return { signal: gone.signal, stop }
}
