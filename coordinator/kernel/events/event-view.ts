import * as z from 'zod'
import { canCome, FAMILIES, TYPE_PATTERN } from './topics.ts'

/** An event as it is sent: CloudEvents 1.0 in its JSON form. */
export const EventView = z.object({
  specversion: z.literal('1.0'),
  id: z.string(),
  source: z.string(),
  type: z.string(),
  subject: z.string().exactOptional(),
  time: z.iso.datetime(),
  data: z.json(),
})

export const TypePattern = z
  .string()
  .max(200)
  .regex(TYPE_PATTERN, 'is not a type such as shoal.gate.approved, shoal.cell.* or *')
  .refine(canCome, { error: `is of no family of events; they are ${FAMILIES}` })
