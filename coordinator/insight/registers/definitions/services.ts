import * as z from 'zod'
import { defineRegister, Name, RecordId } from '../register.ts'

export const services = defineRegister({
  id: 'services',
  description: 'Services that the organisation runs, with their addresses and owners.',
  record: z.strictObject({
    id: RecordId,
    name: Name,
    kind: z.enum(['http', 'keycloak', 'matrix', 'database', 'other']).default('http'),
    url: z
      .url({ protocol: /^https?$/ })
      .max(500)
      .exactOptional(),
    criticality: z.enum(['low', 'medium', 'high', 'critical']).default('medium'),
    owner_id: RecordId.exactOptional().describe('Id of a person.'),
    depends_on: z.array(RecordId).max(50).exactOptional().describe('Ids of other services.'),
  }),
  personal: { fields: [], persons: { owner_id: 'clear' } },
})
