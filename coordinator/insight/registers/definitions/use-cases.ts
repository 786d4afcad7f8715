import * as z from 'zod'
import { defineRegister, Euros, Name, Note, RecordId } from '../register.ts'

export const useCases = defineRegister({
  id: 'use-cases',
  description: 'Uses of the service, with their expected benefit and cost per year.',
  record: z.strictObject({
    id: RecordId,
    name: Name,
    description: Note.exactOptional(),
    tenant_id: RecordId.exactOptional().describe('Tenant that has the use case.'),
    state: z.enum(['idea', 'pilot', 'productive', 'retired']).default('idea'),
    benefit_eur_per_year: Euros.exactOptional(),
    cost_eur_per_year: Euros.exactOptional(),
    owner_id: RecordId.exactOptional().describe('Id of a person.'),
  }),
  personal: { fields: [], persons: { owner_id: 'clear' } },
})
