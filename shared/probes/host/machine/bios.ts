import { NO_DMI_TABLE } from '../../empty-answer.ts'
import { SERIALS } from '../../private-fields.ts'
import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'bios',
  call: 'bios',
  description: 'Maker, version and date of the firmware.',
  shape: 'object',
  removed: SERIALS,
  emptyReason: NO_DMI_TABLE,
})
