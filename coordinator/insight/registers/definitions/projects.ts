import * as z from 'zod'
import { Day, defineRegister, Euros, Name, Note, RecordId } from '../register.ts'

export const projects = defineRegister({
  id: 'projects',
  description: 'Projects with their budget and dates.',
  record: z.strictObject({
    id: RecordId,
    name: Name,
    description: Note.exactOptional(),
    team: Name.exactOptional(),
    state: z.enum(['planned', 'running', 'done', 'stopped']).default('planned'),
    budget_eur: Euros.exactOptional().describe('Budget at completion.'),
    started_on: Day.exactOptional(),
    due_on: Day.exactOptional(),
    owner_id: RecordId.exactOptional().describe('Id of a person.'),
  }),
  personal: { fields: [], persons: { owner_id: 'clear' } },
})
