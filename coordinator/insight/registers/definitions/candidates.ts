import * as z from 'zod'
import { Day, defineRegister, Name, RecordId } from '../register.ts'

export const STAGES = ['applied', 'screening', 'interview', 'offer', 'hired'] as const

export const candidates = defineRegister({
  id: 'candidates',
  description: 'Applicants for positions, with the day on which they entered each stage.',
  roles: ['operator_admin'],
  record: z.strictObject({
    id: RecordId.describe('Pseudonym; a candidate who is hired keeps it in the register people.'),
    name: Name,
    email: z.email().max(200).exactOptional(),
    position: Name,
    source: Name.exactOptional(),
    applied_on: Day,
    screening_on: Day.exactOptional(),
    interview_on: Day.exactOptional(),
    offer_on: Day.exactOptional(),
    hired_on: Day.exactOptional(),
    closed_on: Day.exactOptional().describe('Day of the rejection or withdrawal.'),
    closed_as: z.enum(['rejected', 'withdrawn']).exactOptional(),
  }),
  personal: {
    fields: [
      ...['name', 'email', 'position', 'source', 'applied_on', 'screening_on', 'interview_on'],
      ...['offer_on', 'hired_on', 'closed_on', 'closed_as'],
    ],
    persons: { id: 'delete' },
  },
})
