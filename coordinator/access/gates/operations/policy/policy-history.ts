import * as z from 'zod'
import { definePageFields, findCursorRow } from '../../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { GateViews } from '../../open.ts'
import { PolicyRecord, toPolicyRecord } from './policy-view.ts'

export default defineOperation({
  id: 'policy-history',
  description: 'List the policies that replaced the configured one, newest first.',
  method: 'GET',
  path: '/v1/policy/history',
  access: 'operator',
  effect: 'read',
  tool: false,
  input: z.strictObject({
    ...definePageFields(),
  }),
  output: z.object({ policies: z.array(PolicyRecord), next: z.int().nullable() }),
  run: async ({ before, limit }, { policies }: GateViews) => {
    const rows = await policies.history({ before, limit })
    const next = findCursorRow(rows, limit)?.number ?? null
    return { policies: rows.map(toPolicyRecord), next }
  },
})
