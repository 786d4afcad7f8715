import { device } from '../../needs.ts'
import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'bluetooth-devices',
  call: 'bluetoothDevices',
  description: 'Paired Bluetooth devices and whether they are connected.',
  shape: 'list',
  needs: [device('bluetooth', 'this machine has no Bluetooth adapter')],
})
