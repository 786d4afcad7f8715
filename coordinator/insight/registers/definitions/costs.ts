import * as z from 'zod'
import { Day, defineRegister, Euros, Name, RecordId } from '../register.ts'

const COST_CATEGORIES = [
  'hardware',
  'personnel',
  'hosting',
  'network',
  'licences',
  'other',
] as const

export const costs = defineRegister({
  id: 'costs',
  description: 'Costs of the operation: recurring ones, and hardware that is depreciated.',
  record: z.strictObject({
    id: RecordId,
    category: z.enum(COST_CATEGORIES),
    name: Name,
    amount_eur: Euros.describe('Amount per period; the purchase price of hardware with a life.'),
    period: z.enum(['once', 'monthly', 'yearly']).default('monthly'),
    useful_life_months: z
      .int()
      .min(1)
      .max(600)
      .exactOptional()
      .describe('Depreciates a single amount in equal parts over these months.'),
    residual_value_eur: Euros.exactOptional().describe('Value after the useful life.'),
    started_on: Day.describe('First day of the cost, or day of the purchase.'),
    ended_on: Day.exactOptional().describe('First day without the cost.'),
    tenant_id: RecordId.exactOptional().describe('Tenant that alone causes the cost.'),
    cell_id: z.string().min(1).max(64).exactOptional().describe('Cell that the cost is for.'),
  }),
})
