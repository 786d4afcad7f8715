import { defineHostProbe } from '../../probe.ts'
import { sizes } from '../../units.ts'

export default defineHostProbe({
  id: 'mem',
  call: 'mem',
  description: 'Memory and swap of the machine, bytes.',
  shape: 'object',
  units: sizes(
    'bytes',
    ...['total', 'free', 'used', 'active', 'available', 'buffers', 'cached', 'slab'],
    ...['buffcache', 'reclaimable', 'swaptotal', 'swapused', 'swapfree', 'writeback', 'dirty'],
  ),
})
