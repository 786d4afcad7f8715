import { program } from '../../needs.ts'
import { defineHostProbe } from '../../probe.ts'
import { sizes } from '../../units.ts'

export default defineHostProbe({
  id: 'fs-stats',
  call: 'fsStats',
  description: 'Bytes read and written since boot, and per second.',
  shape: 'object',
  units: {
    ...sizes('bytes', 'rx', 'wx', 'tx'),
    ...sizes('bytes/s', 'rx_sec', 'wx_sec', 'tx_sec'),
  },
  isRate: true,
  needs: [program('lsblk')],
  emptyReason: 'no disk was found',
})
