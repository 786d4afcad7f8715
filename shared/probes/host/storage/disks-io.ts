import { program } from '../../needs.ts'
import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'disks-io',
  call: 'disksIO',
  description: 'Operations of the disks since boot and per second; waiting times in milliseconds.',
  shape: 'object',
  isRate: true,
  needs: [program('lsblk')],
  whenEmpty: 'no disk was found',
})
