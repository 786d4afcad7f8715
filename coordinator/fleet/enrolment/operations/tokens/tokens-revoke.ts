import * as z from 'zod'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { Id } from '../../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import { scopeOf } from '../../../../kernel/declaration/tenant-scope.ts'
import type { EnrolmentViews } from '../../open.ts'

export default defineOperation({
  id: 'tokens-revoke',
  description: 'Revoke a join token of your tenant. Cells that joined with it stay.',
  method: 'DELETE',
  path: '/v1/tokens/{token_id}',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  tool: false,
  input: z.strictObject({ token_id: Id }),
  output: z.object({ id: z.string() }),
  run: async ({ token_id }, context: Context & EnrolmentViews) => {
    const { tenantId } = scopeOf(context)
    await context.tokens.revoke({ id: token_id, tenantId }, context.actor)
    return { id: token_id }
  },
})
