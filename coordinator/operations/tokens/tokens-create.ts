import * as z from 'zod'
import { createToken } from '../../keys/join-tokens.ts'
import { defineOperation } from '../operation.ts'
import { TokenView, viewOf } from './token-view.ts'

export default defineOperation({
  id: 'tokens-create',
  description: 'Make a join token for one machine. The secret is shown once.',
  method: 'POST',
  path: '/v1/tokens',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  input: z.strictObject({
    ttl_minutes: z
      .int()
      .min(1)
      .max(7 * 24 * 60)
      .default(60)
      .describe('How long the token is good.'),
  }),
  output: TokenView.extend({ secret: z.string() }),
  run: async ({ ttl_minutes }, { store, actor }) => {
    const wanted = { uses: 1, ttlMinutes: ttl_minutes }
    const { token, secret } = await createToken(store.ledger, wanted, actor)
    return { ...viewOf(token), secret }
  },
})
