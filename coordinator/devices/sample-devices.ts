import type { DeviceSeries } from './device-series.ts'
import type { Devices } from './devices.ts'

interface SampleParts {
  devices: Pick<Devices, 'list' | 'profile' | 'state'>
  series: Pick<DeviceSeries, 'add'>
  /** True while this coordinator writes what a cell reports; exactly one does. */
  owns: (cellId: string) => boolean
}

/** Adds the fresh numbers of all available devices to their series. */
export const sampleDevices = ({ devices, series, owns }: SampleParts): void => {
  for (const device of devices.list()) {
    if (!device.isAvailable || !owns(device.cellId)) continue
    for (const [name, { value, isStale }] of devices.state(device)?.readings ?? [])
      if (typeof value === 'number' && !isStale) series.add(device.id, name, value)
  }
}
