import * as z from 'zod'
import { Day, defineRegister, Name, RecordId } from '../register.ts'

export const trainings = defineRegister({
  id: 'trainings',
  description: 'Courses that were assigned to people, and when they were completed.',
  record: z.strictObject({
    id: RecordId,
    person_id: RecordId,
    course: Name,
    is_mandatory: z.boolean().default(false),
    assigned_on: Day,
    due_on: Day.exactOptional(),
    completed_on: Day.exactOptional(),
    valid_until: Day.exactOptional().describe('Last day on which the completion counts.'),
  }),
  personal: {
    fields: ['course', 'assigned_on', 'due_on', 'completed_on', 'valid_until'],
    persons: { person_id: 'delete' },
  },
})
