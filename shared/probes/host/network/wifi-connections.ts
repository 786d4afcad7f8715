import { program, WIFI } from '../../needs.ts'
import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'wifi-connections',
  call: 'wifiConnections',
  description: 'Connected wifi networks: frequency in MHz, signal in dBm.',
  shape: 'list',
  needs: [WIFI, program('iw', 'nmcli')],
})
