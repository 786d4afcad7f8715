import { defineHostProbe } from '../../probe.ts'
import { CACHE_SIZES } from '../../units.ts'

export default defineHostProbe({
  id: 'cpu',
  call: 'cpu',
  description: 'Brand, cores and caches of the processor: speeds in GHz, caches in bytes.',
  shape: 'object',
  units: CACHE_SIZES,
})
