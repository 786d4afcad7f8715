import * as z from 'zod'
import { defineRegister, Name, RecordId } from '../register.ts'

export const chatServers = defineRegister({
  id: 'chat-servers',
  description: 'Matrix homeservers of the tenants.',
  record: z.strictObject({
    id: RecordId,
    tenant_id: RecordId,
    name: Name.exactOptional(),
    url: z
      .url({ protocol: /^https?$/ })
      .max(500)
      .describe('Base address of the client API.'),
  }),
})
