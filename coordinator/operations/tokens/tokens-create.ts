import * as z from 'zod'
import { joinTokenText } from '../../../shared/join-token.ts'
import type { IssuedToken, NewToken } from '../../enrolment/join-tokens.ts'
import { throughGate } from '../../gates/through-gate.ts'
import type { SealedTrx } from '../../store/store.ts'
import type { Context } from '../context.ts'
import { callerOf } from '../gates/gate-view.ts'
import { defineOperation } from '../operation.ts'
import { Pending } from '../pending.ts'
import { Tags, TokenView, viewOf } from './token-view.ts'

export default defineOperation({
  id: 'tokens-create',
  description:
    'Make a join token; one for many machines has to be approved first. The secret is shown once.',
  method: 'POST',
  path: '/v1/tokens',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'gated',
  input: z.strictObject({
    ttl_minutes: z
      .int()
      .min(1)
      .max(7 * 24 * 60)
      .default(60)
      .describe('How long the token is good.'),
    uses: z.int().min(1).max(10_000).default(1).describe('How many machines may join with it.'),
    role: z.literal('cell').default('cell').describe('What the machine becomes.'),
    tags: Tags.default([]).describe('Tags that the cell gets.'),
  }),
  output: TokenView.extend({ secret: z.string() }),
  run: async ({ ttl_minutes, uses, tags }, context) => {
    const { tokens, identity, actor } = context
    const wanted = { uses, tags, ttlMinutes: ttl_minutes }
    const issued = uses === 1 ? await tokens.create(wanted, actor) : await approved(wanted, context)
    if (issued instanceof Pending) return issued
    const fingerprint = identity.fingerprint()
    return {
      ...viewOf(issued.token),
      secret: joinTokenText({ secret: issued.secret, fingerprint }),
    }
  },
})

const approved = async (wanted: NewToken, context: Context): Promise<IssuedToken | Pending> => {
  const asked = {
    gateId: 'gate.cell-enroll',
    summary: `a join token for ${wanted.uses} machines, good for ${wanted.ttlMinutes} minutes`,
    plan: { action: 'cell.enrol-many', ...wanted },
  }
  const act = (trx: SealedTrx) => context.tokens.createWithin(trx, wanted, context.actor)
  const passage = await throughGate(context.gates, asked, callerOf(context), act)
  return passage.open ? passage.result : new Pending(passage.request)
}
