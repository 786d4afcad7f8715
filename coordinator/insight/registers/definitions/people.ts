import * as z from 'zod'
import { Day, defineRegister, Name, RecordId } from '../register.ts'

export const people = defineRegister({
  id: 'people',
  description: 'People who work for the organisation.',
  roles: ['operator_admin'],
  record: z.strictObject({
    id: RecordId.describe('Pseudonym, such as a personnel number.'),
    name: Name,
    email: z.email().max(200).exactOptional(),
    team: Name,
    job_title: Name.exactOptional(),
    manager_id: RecordId.exactOptional().describe('Id of another person.'),
    full_time_equivalent: z.number().min(0).max(1).default(1),
    state: z.enum(['active', 'leave', 'left']).default('active'),
    started_on: Day,
    ended_on: Day.exactOptional(),
  }),
  personal: {
    fields: [
      'name',
      'email',
      'job_title',
      'full_time_equivalent',
      'state',
      'started_on',
      'ended_on',
    ],
    persons: { id: 'delete', manager_id: 'clear' },
  },
})
