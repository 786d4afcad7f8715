import type { DeviceSeries } from './device-series.ts'
import type { Devices } from './devices.ts'

interface SampleParts {
  devices: Pick<Devices, 'list' | 'profile' | 'state'>
  series: Pick<DeviceSeries, 'add'>
  /** True while this coordinator writes what a cell reports; exactly one does. */
  owns: (cellId: string) => boolean
}

/** Properties of a device that have a series: the first numbers of its profile. */
const MOST_SERIES = 16

/** Adds the fresh numbers of all available devices to their series. */
export const sampleDevices = ({ devices, series, owns }: SampleParts): void => {
  for (const device of devices.list()) {
    if (!device.isAvailable || !owns(device.cellId)) continue
    const readings = [...(devices.state(device)?.readings ?? [])]
    const numbers = readings.filter(([, { value }]) => typeof value === 'number')
    for (const [name, { value, isStale }] of numbers.slice(0, MOST_SERIES))
      if (!isStale) series.add(device.id, name, Number(value))
  }
}
