import { program, WIFI } from '../../needs.ts'
import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'wifi-networks',
  call: 'wifiNetworks',
  description: 'Wifi networks in range: frequency in MHz, signal in dBm.',
  shape: 'list',
  reach: 'radio',
  deadlineSeconds: 14,
  needs: [WIFI, program('nmcli', 'iw', 'iwlist')],
})
