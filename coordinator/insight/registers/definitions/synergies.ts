import * as z from 'zod'
import { defineRegister, Name, Note, RecordId } from '../register.ts'

export const synergies = defineRegister({
  id: 'synergies',
  description: 'Combinations of skills that are worth more together than each alone.',
  record: z.strictObject({
    id: RecordId,
    name: Name,
    description: Note.exactOptional(),
    skills: z.array(RecordId).min(2).max(20).describe('Ids of the skills, in order.'),
    state: z.enum(['proposed', 'active', 'retired']).default('proposed'),
    owner_id: RecordId.exactOptional().describe('Id of a person.'),
  }),
  personal: { fields: [], persons: { owner_id: 'clear' } },
})
