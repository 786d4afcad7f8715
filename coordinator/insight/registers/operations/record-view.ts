import * as z from 'zod'
import { iso } from '../../../../shared/time.ts'
import type { StoredRecord } from '../register.table.ts'

export const RecordView = z.object({
  id: z.string(),
  revision: z.int().describe('Grows with every change of the record.'),
  is_example: z.boolean().describe('True for a record of the shipped example organisation.'),
  changed_at: z.iso.datetime(),
  changed_by: z.string(),
  record: z.record(z.string(), z.unknown()).describe('The fields of the register.'),
})

export const viewRecord = (stored: Omit<StoredRecord, 'register'>): z.input<typeof RecordView> => ({
  id: stored.id,
  revision: stored.revision,
  is_example: stored.isExample,
  changed_at: iso(stored.changedAt),
  changed_by: stored.changedBy,
  record: stored.record,
})
