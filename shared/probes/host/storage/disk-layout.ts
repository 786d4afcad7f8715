import { program } from '../../needs.ts'
import { SERIALS } from '../../private-fields.ts'
import { defineHostProbe } from '../../probe.ts'
import { sizes } from '../../units.ts'

export default defineHostProbe({
  id: 'disk-layout',
  call: 'diskLayout',
  description: 'Maker, model, size in bytes and health of the physical disks.',
  shape: 'list',
  units: sizes('bytes', 'size'),
  removed: [...SERIALS, 'serial_number', 'wwn'],
  needs: [program('lsblk')],
  emptyReason: 'no disk reports its maker and model; block-devices lists all disks',
})
