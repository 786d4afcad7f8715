import type { Logger } from 'pino'
import { wait as realWait, type Wait } from '../../shared/wait.ts'
import type { DeviceHost } from '../devices/device-host.ts'
import { listDevices, writeDeviceList } from '../devices/device-list-file.ts'
import type { Service } from '../service.ts'

interface DeviceListOptions {
  stateDir: string
  host: Pick<DeviceHost, 'listDevices'>
  /** Unix milliseconds. */
  now: () => number
  logger: Pick<Logger, 'debug'>
  wait?: Wait
}

/** Interval between two lists. */
export const LIST_EVERY_MS = 5000

/** Keeps the list of devices in the state folder, where `shoald devices` reads it. */
export const deviceListService = ({
  stateDir,
  host,
  now,
  logger,
  wait = realWait,
}: DeviceListOptions): Service => ({
  name: 'device list',
  start: async ({ signal, fail }) => {
    const run = async (): Promise<void> => {
      while (!signal.aborted) {
        await writeDeviceList(stateDir, listDevices(host, now())).catch(error =>
          logger.debug({ reason: error.message }, 'list of devices not written'),
        )
        await wait(LIST_EVERY_MS, signal)
      }
    }
    run().catch(fail)
  },
})
