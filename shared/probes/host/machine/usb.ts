import { program } from '../../needs.ts'
import { SERIALS } from '../../private-fields.ts'
import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'usb',
  call: 'usb',
  description: 'What is plugged into the USB buses.',
  shape: 'list',
  removed: SERIALS,
  needs: [program('lsusb')],
  whenEmpty: 'no USB bus was found',
})
