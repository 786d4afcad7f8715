import * as z from 'zod'
import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'inet-checksite',
  call: 'inetChecksite',
  description:
    'Whether a site answers, with its status and latency in milliseconds. Contacts only targets that the cell allows.',
  shape: 'object',
  reach: 'internet',
  input: {
    // scheme, host or address, port, and a path of plain letters: the library alters all others
    url: z
      .string()
      .regex(/^https?:\/\/([a-z0-9][a-z0-9.-]{0,252})(:[0-9]{1,5})?(\/[a-z0-9._~/-]{0,500})?$/)
      .max(800)
      .describe(
        'Lower case, without a query; its host must be listed in probes.allowed_targets of the cell.',
      ),
  },
  argumentsFor: ({ url }) => [url],
  // the library reports 404 for a site that does not answer
  arrange: async (answer, { url }, { httpStatus }) =>
    answer.status === 404 ? { ...answer, status: await httpStatus(url) } : answer,
})
