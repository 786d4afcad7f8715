import * as z from 'zod'
import { defineRegister, Name, Note, RecordId } from '../register.ts'

export const backups = defineRegister({
  id: 'backups',
  description: 'Backups that were taken, and when a restore from them was last tested.',
  record: z.strictObject({
    id: RecordId,
    system: Name.describe('What was backed up, such as the id of a service.'),
    location: Name,
    taken_at: z.iso.datetime({ offset: true }),
    size_bytes: z.int().min(0).exactOptional(),
    outcome: z.enum(['succeeded', 'failed']),
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .exactOptional(),
    restore_tested_at: z.iso.datetime({ offset: true }).exactOptional(),
    note: Note.exactOptional(),
  }),
})
