import { SERIALS } from '../../private-fields.ts'
import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'os-info',
  call: 'osInfo',
  description: 'Distribution, release, kernel and host name.',
  shape: 'object',
  removed: SERIALS,
})
