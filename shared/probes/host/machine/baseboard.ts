import { NO_DMI_TABLE } from '../../empty-answer.ts'
import { SERIALS } from '../../private-fields.ts'
import { defineHostProbe } from '../../probe.ts'
import { sizes } from '../../units.ts'

export default defineHostProbe({
  id: 'baseboard',
  call: 'baseboard',
  description: 'Maker and model of the mainboard; memMax in bytes.',
  shape: 'object',
  units: sizes('bytes', 'memMax'),
  removed: SERIALS,
  emptyReason: NO_DMI_TABLE,
})
