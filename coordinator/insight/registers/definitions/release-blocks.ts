import * as z from 'zod'
import { Day, defineRegister, Name, Note, RecordId } from '../register.ts'

export const releaseBlocks = defineRegister({
  id: 'release-blocks',
  description: 'Building blocks of a release that are confirmed by evidence instead of a check.',
  record: z.strictObject({
    id: RecordId,
    channel: Name,
    name: Name,
    state: z.enum(['open', 'ready', 'waived']).default('open'),
    evidence: Note.exactOptional().describe('Reference to a ticket, report or document.'),
    confirmed_on: Day.exactOptional(),
    owner_id: RecordId.exactOptional().describe('Id of a person.'),
  }),
  personal: { fields: [], persons: { owner_id: 'clear' } },
})
