import { defineHostProbe } from '../../probe.ts'
import { CACHE_SIZES } from '../../units.ts'

export default defineHostProbe({
  id: 'cpu-cache',
  call: 'cpuCache',
  description: 'Size of the caches of the processor, bytes.',
  shape: 'object',
  units: CACHE_SIZES,
})
