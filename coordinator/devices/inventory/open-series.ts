import type { Base } from '../../kernel/base/base.ts'
import type { OpenLeader } from '../../kernel/leader/open.ts'
import type { Replicas } from '../../kernel/replicas/replicas.ts'
import type { Store } from '../../kernel/store/store.ts'
import { DEVICE_RESOLUTIONS, DeviceSeries } from './device-series.ts'
import type { Devices } from './devices.ts'
import { deleteSeriesRows } from './series-rows.ts'

interface SeriesDomainParts
  extends Pick<Base, 'stack' | 'schedules' | 'logger' | 'now'>,
    Pick<OpenLeader, 'leaderWork'> {
  store: Pick<Store, 'records'>
  replicas: Pick<Replicas, 'owns'>
  devices: Pick<Devices, 'list' | 'profile' | 'state'>
}

const SAMPLE_SECONDS = 10
/** Values stay in memory for so long, which a crash may cost. */
const FLUSH_SECONDS = 300
const PRUNE_SECONDS = 3600

/** Time series of the devices. One coordinator samples a cell, so that no sample counts twice. */
export const openDeviceSeries = (parts: SeriesDomainParts): DeviceSeries => {
  const { store, replicas, devices, stack, schedules, leaderWork, now } = parts
  const series = new DeviceSeries({ ...parts, records: store.records })
  stack.defer(() => series.flush())
  schedules.every('devices.sample', SAMPLE_SECONDS, () =>
    sampleDevices({ devices, series, owns: cellId => replicas.owns(cellId) }),
  )
  schedules.every('devices.series', FLUSH_SECONDS, () => series.flush())
  leaderWork.every('devices.prune-series', PRUNE_SECONDS, async () => {
    for (const { seconds, keepSeconds, rowSeconds } of Object.values(DEVICE_RESOLUTIONS))
      await deleteSeriesRows(store.records, seconds, now() - (keepSeconds + rowSeconds) * 1000)
  })
  return series
}

interface SampleParts {
  devices: Pick<Devices, 'list' | 'profile' | 'state'>
  series: Pick<DeviceSeries, 'add'>
  /** Tells whether this coordinator stores the reports of a cell; exactly one does. */
  owns: (cellId: string) => boolean
}

/** Properties of a device that have a series: the first numbers of its profile. */
const MOST_SERIES = 16

/** Adds the fresh numbers of all available devices to their series. */
const sampleDevices = ({ devices, series, owns }: SampleParts): void => {
  for (const device of devices.list()) {
    if (!device.isAvailable || !owns(device.cellId)) continue
    const readings = [...(devices.state(device)?.readings ?? [])]
    const numbers = readings.filter(([, { value }]) => typeof value === 'number')
    for (const [name, { value, isStale }] of numbers.slice(0, MOST_SERIES))
      if (!isStale) series.add(device.id, name, Number(value))
  }
}
