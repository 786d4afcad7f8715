import { program, WIFI } from '../../needs.ts'
import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'wifi-interfaces',
  call: 'wifiInterfaces',
  description: 'Wifi adapters of the machine.',
  shape: 'list',
  needs: [WIFI, program('iw', 'nmcli')],
})
