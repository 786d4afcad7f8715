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
  input: z.strictObject({}),
  output: z.object({ keys: z.array(KeyView) }),
  run: async (_input, context) => {
    const { key, keys, tenantId = '' } = context
    const all = await keys.list({ tenantId })
    const shown = all.filter(each => isAdministrator(context) || each.personId === key?.personId)
    return { keys: shown.map(keyViewOf) }
  },
})
