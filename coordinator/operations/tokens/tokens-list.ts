import * as z from 'zod'
import { defineOperation } from '../operation.ts'
import { TokenView, tokenViewOf } from './token-view.ts'

export default defineOperation({
  id: 'tokens-list',
  description: 'List the join tokens for new cells, without their secrets.',
  method: 'GET',
  path: '/v1/tokens',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'read',
  tool: false,
  input: z.strictObject({}),
  output: z.object({ tokens: z.array(TokenView) }),
  run: async (_input, { tokens }) => ({ tokens: (await tokens.list()).map(tokenViewOf) }),
})
