import { NO_DMI_TABLE } from '../../empty-answer.ts'
import { SERIALS } from '../../private-fields.ts'
import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'system',
  call: 'system',
  description: 'Maker and model of the machine, and whether it is virtual.',
  shape: 'object',
  removed: [...SERIALS, 'uuid'],
  emptyReason: NO_DMI_TABLE,
})
