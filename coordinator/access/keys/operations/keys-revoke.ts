import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { Id } from '../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { KeyViews } from '../open.ts'
import { KeyView, keyViewOf, ownKey } from './key-view.ts'

export default defineOperation({
  id: 'keys-revoke',
  description: 'Revoke a key permanently. It takes effect within a second.',
  method: 'DELETE',
  path: '/v1/keys/{key_id}',
  access: 'key',
  effect: 'write',
  tool: false,
  input: z.strictObject({ key_id: Id }),
  output: KeyView,
  run: async ({ key_id }, context: Context & KeyViews) => {
    const { id, tenantId } = await ownKey(key_id, context, 'getRevocable')
    return keyViewOf(await context.keys.revoke(id, { tenantId }, context.actor))
  },
})
