import * as z from 'zod'
import { TIER_NAMES } from '../../../../shared/catalogue.ts'
import { Day, defineRegister, Euros, Name, RecordId } from '../register.ts'

/** A change of tier or price ends one subscription and starts the next one on the same day. */
export const subscriptions = defineRegister({
  id: 'subscriptions',
  description: 'Subscriptions of tenants: tier, monthly price, first and last day.',
  record: z.strictObject({
    id: RecordId,
    tenant_id: RecordId.describe('Tenant that subscribes.'),
    tenant_name: Name.exactOptional(),
    tier: z.enum(TIER_NAMES),
    mrr_eur: Euros.describe('Monthly recurring revenue: the price per month, net of tax.'),
    started_on: Day.describe('First day of the subscription.'),
    ended_on: Day.exactOptional().describe('First day without the subscription.'),
  }),
})
