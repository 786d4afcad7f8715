/** How a number of a probe is counted; `sec` is a second. */
export type SizeUnit = 'bytes' | 'bytes/s' | 'KiB' | 'MiB'

const sizes = <T extends string>(unit: SizeUnit, ...names: T[]): Record<string, SizeUnit> =>
  Object.fromEntries(names.map(name => [name, unit]))

const CACHES = sizes('bytes', 'l1d', 'l1i', 'l2', 'l3')

/**
 * Fields that hold sizes, by the id of their probe, wherever they stand in its answer. The names
 * are those of systeminformation and do not say it themselves (https://systeminformation.io);
 * those that end in `_bytes` do.
 */
export const PROBE_UNITS: Readonly<Record<string, Readonly<Record<string, SizeUnit>>>> = {
  baseboard: sizes('bytes', 'memMax'),
  'mem-layout': sizes('bytes', 'size'),
  graphics: sizes('MiB', 'vram', 'memoryTotal', 'memoryUsed', 'memoryFree'),
  cpu: CACHES,
  'cpu-cache': CACHES,
  mem: sizes(
    'bytes',
    ...['total', 'free', 'used', 'active', 'available', 'buffers', 'cached', 'slab'],
    ...['buffcache', 'reclaimable', 'swaptotal', 'swapused', 'swapfree', 'writeback', 'dirty'],
  ),
  processes: sizes('KiB', 'memVsz', 'memRss'),
  'fs-size': sizes('bytes', 'size', 'used', 'available'),
  'block-devices': sizes('bytes', 'size'),
  'fs-stats': {
    ...sizes('bytes', 'rx', 'wx', 'tx'),
    ...sizes('bytes/s', 'rx_sec', 'wx_sec', 'tx_sec'),
  },
  'disk-layout': sizes('bytes', 'size'),
  'network-stats': sizes('bytes/s', 'rx_sec', 'tx_sec'),
  'docker-info': sizes('bytes', 'memTotal'),
  'docker-images': sizes('bytes', 'size', 'sharedSize', 'virtualSize'),
  'docker-container-stats': sizes('bytes', 'memUsage', 'memLimit', 'rx', 'wx', 'r', 'w'),
  'docker-container-processes': sizes('KiB', 'vsz', 'rss'),
}
