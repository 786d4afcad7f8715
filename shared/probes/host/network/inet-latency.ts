import * as z from 'zod'
import { program } from '../../needs.ts'
import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'inet-latency',
  call: 'inetLatency',
  description:
    'Round-trip time of a ping, milliseconds. Contacts only targets that the cell allows.',
  shape: 'number',
  reach: 'internet',
  input: {
    host: z
      .string()
      .regex(/^[a-z0-9][a-z0-9.:-]{0,252}$/)
      .max(253)
      .describe('Name or address listed in probes.allowed_targets of the cell.'),
  },
  needs: [program('ping')],
  argumentsFor: ({ host }) => [host],
  emptyReason: ({ host }) => `${host} did not answer to ping`,
})
