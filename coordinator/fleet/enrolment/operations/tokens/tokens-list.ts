import * as z from 'zod'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import { scopeOf } from '../../../../kernel/declaration/tenant-scope.ts'
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
  run: async (_input, context) => {
    const { tenantId } = scopeOf(context)
    return { tokens: (await context.tokens.list(tenantId)).map(tokenViewOf) }
  },
})
