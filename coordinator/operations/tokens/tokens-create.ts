import * as z from 'zod'
import { joinTokenText } from '../../../shared/join-token.ts'
import { createToken, requireSingleUse } from '../../keys/join-tokens.ts'
import { defineOperation } from '../operation.ts'
import { Tags, TokenView, viewOf } from './token-view.ts'

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
    uses: z.int().min(1).default(1).describe('How many machines may join with it; now 1 alone.'),
    role: z.literal('cell').default('cell').describe('What the machine becomes.'),
    tags: Tags.default([]).describe('Tags that the cell gets.'),
  }),
  output: TokenView.extend({ secret: z.string() }),
  run: async ({ ttl_minutes, uses, tags }, { store, identity, actor }) => {
    requireSingleUse(uses)
    const wanted = { uses, tags, ttlMinutes: ttl_minutes }
    const { token, secret } = await createToken(store.ledger, wanted, actor)
    const fingerprint = identity.fingerprint()
    return { ...viewOf(token), secret: joinTokenText({ secret, fingerprint }) }
  },
})
