import { program, WIFI } from '../../needs.ts'
import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'wifi-connections',
  call: 'wifiConnections',
  description: 'Wifi networks the machine is connected to: frequency in MHz, signal in dBm.',
  shape: 'list',
  needs: [WIFI, program('iw', 'nmcli')],
})
