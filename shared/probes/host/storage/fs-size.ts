import { program } from '../../needs.ts'
import { defineHostProbe } from '../../probe.ts'
import { sizes } from '../../units.ts'

export default defineHostProbe({
  id: 'fs-size',
  call: 'fsSize',
  description: 'Mounted file systems: sizes in bytes, use in percent.',
  shape: 'list',
  units: sizes('bytes', 'size', 'used', 'available'),
  needs: [program('df')],
})
