import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { findCursorRow, NextCursor, PAGE, pageLimit } from '../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { KeyViews } from '../open.ts'
import { isAdministrator, KeyView, keyViewOf } from './key-view.ts'

export default defineOperation({
  id: 'keys-list',
  description:
    'List API keys without their secrets: your own or, for administrators, all keys of the tenant.',
  method: 'GET',
  path: '/v1/keys',
  access: 'key',
  effect: 'read',
  tool: false,
  input: z.strictObject({
    after: PAGE.before,
    limit: pageLimit(1000, 100),
  }),
  output: z.object({ keys: z.array(KeyView), next: NextCursor }),
  run: async ({ after, limit }, context: Context & KeyViews) => {
    const { key, keys, tenantId = '' } = context
    const personId = isAdministrator(context) ? undefined : key?.personId
    const found = await keys.list({ tenantId }, { limit, after, personId })
    const next = findCursorRow(found, limit)?.id ?? null
    return { keys: found.map(keyViewOf), next }
  },
})
