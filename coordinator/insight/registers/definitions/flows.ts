import * as z from 'zod'
import { defineRegister, Name, Note, RecordId } from '../register.ts'

export const flows = defineRegister({
  id: 'flows',
  description: 'Named sequences of skills that the organisation has described.',
  record: z.strictObject({
    id: RecordId,
    name: Name,
    description: Note.exactOptional(),
    state: z.enum(['draft', 'active', 'retired']).default('draft'),
    skills: z.array(RecordId).min(1).max(100).describe('Ids of the skills, in order.'),
    owner_id: RecordId.exactOptional().describe('Id of a person.'),
  }),
  personal: { fields: [], persons: { owner_id: 'clear' } },
})
