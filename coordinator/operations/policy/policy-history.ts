import * as z from 'zod'
import { defineOperation } from '../operation.ts'
import { PolicyRecord, recordOf } from './policy-view.ts'

export default defineOperation({
  id: 'policy-history',
  description: 'List the policies that took the place of the configured one, newest first.',
  method: 'GET',
  path: '/v1/policy/history',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({
    before: z.int().min(1).exactOptional().describe('`next` of the page before.'),
    limit: z.int().min(1).max(200).default(50),
  }),
  output: z.object({ policies: z.array(PolicyRecord), next: z.int().nullable() }),
  run: async ({ before, limit }, { policies }) => {
    const rows = await policies.history({ before, limit })
    const next = rows.length === limit ? (rows.at(-1)?.number ?? null) : null
    return { policies: rows.map(recordOf), next }
  },
})
