import { program } from '../../needs.ts'
import { SERIALS } from '../../private-fields.ts'
import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'usb',
  call: 'usb',
  description: 'Devices on the USB buses.',
  shape: 'list',
  removed: SERIALS,
  needs: [program('lsusb')],
  emptyReason: 'no USB bus was found',
})
