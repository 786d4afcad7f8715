import * as z from 'zod'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import { scopeOf } from '../../../../kernel/declaration/tenant-scope.ts'
import type { EnrolmentViews } from '../../open.ts'
import { TokenView, tokenViewOf } from './token-view.ts'

export default defineOperation({
  id: 'tokens-list',
  description: 'List the join tokens that operators of your tenant created, without their secrets.',
  method: 'GET',
  path: '/v1/tokens',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'read',
  tool: false,
  input: z.strictObject({}),
  output: z.object({ tokens: z.array(TokenView) }),
  run: async (_input, context: Context & EnrolmentViews) => {
    const { tenantId } = scopeOf(context)
    return { tokens: (await context.tokens.list(tenantId)).map(tokenViewOf) }
  },
})
