import * as z from 'zod'
import { defineOperation } from '../operation.ts'
import { isAdministrator, KeyView, keyViewOf } from './key-view.ts'

export default defineOperation({
  id: 'keys-list',
  description:
    'List API keys without their secrets: your own, or as administrator all of the tenant.',
  method: 'GET',
  path: '/v1/keys',
  access: 'key',
  effect: 'read',
  tool: false,
  input: z.strictObject({
    after: z.string().max(64).exactOptional().describe('`next` of the page before.'),
    limit: z.int().min(1).max(1000).default(100),
  }),
  output: z.object({ keys: z.array(KeyView), next: z.string().nullable() }),
  run: async ({ after, limit }, context) => {
    const { key, keys, tenantId = '' } = context
    const personId = isAdministrator(context) ? undefined : key?.personId
    const found = await keys.list({ tenantId }, { limit, after, personId })
    const next = found.length === limit ? (found.at(-1)?.id ?? null) : null
    return { keys: found.map(keyViewOf), next }
  },
})
