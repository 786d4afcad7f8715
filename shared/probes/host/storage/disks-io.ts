import { program } from '../../needs.ts'
import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'disks-io',
  call: 'disksIO',
  description: 'Disk operations since boot and per second; wait times in milliseconds.',
  shape: 'object',
  isRate: true,
  needs: [program('lsblk')],
  emptyReason: 'no disk was found',
})
