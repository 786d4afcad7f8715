import * as z from 'zod'
import { Id } from '../fields.ts'
import { defineOperation } from '../operation.ts'

export default defineOperation({
  id: 'tokens-revoke',
  description: 'Revoke a join token. Cells that joined with it stay.',
  method: 'DELETE',
  path: '/v1/tokens/{token_id}',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  tool: false,
  input: z.strictObject({ token_id: Id }),
  output: z.object({ id: z.string() }),
  run: async ({ token_id }, { tokens, actor }) => {
    await tokens.revoke(token_id, actor)
    return { id: token_id }
  },
})
