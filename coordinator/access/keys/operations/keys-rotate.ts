import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { Id } from '../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { KeyViews } from '../open.ts'
import { requireHolder } from './key-rules.ts'
import { KeyView, keyViewOf, ownKey } from './key-view.ts'

export default defineOperation({
  id: 'keys-rotate',
  description:
    'Give a key a second secret, shown only once. The previous secret stays valid until the next rotation or keys-retire.',
  method: 'POST',
  path: '/v1/keys/{key_id}/rotate',
  access: 'key',
  effect: 'write',
  tool: false,
  input: z.strictObject({ key_id: Id }),
  output: KeyView.extend({ secret: z.string() }),
  run: async ({ key_id }, context: Context & KeyViews) => {
    const found = await ownKey(key_id, context)
    requireHolder(found, context)
    const { id, tenantId } = found
    const { key, secret } = await context.keys.rotate(id, { tenantId }, context.actor)
    return { ...keyViewOf(key), secret }
  },
})
