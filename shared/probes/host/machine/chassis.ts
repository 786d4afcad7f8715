import { NO_DMI_TABLE } from '../../empty-answer.ts'
import { SERIALS } from '../../private-fields.ts'
import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'chassis',
  call: 'chassis',
  description: 'Maker, model and type of the case.',
  shape: 'object',
  removed: SERIALS,
  emptyReason: NO_DMI_TABLE,
})
