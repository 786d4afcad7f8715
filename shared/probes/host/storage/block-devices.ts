import { program } from '../../needs.ts'
import { SERIALS } from '../../private-fields.ts'
import { defineHostProbe } from '../../probe.ts'
import { sizes } from '../../units.ts'

export default defineHostProbe({
  id: 'block-devices',
  call: 'blockDevices',
  description: 'Disks and partitions: size in bytes, file system, mount point.',
  shape: 'list',
  units: sizes('bytes', 'size'),
  removed: [...SERIALS, 'uuid'],
  needs: [program('lsblk')],
})
