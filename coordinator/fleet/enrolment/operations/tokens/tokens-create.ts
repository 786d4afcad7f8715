import * as z from 'zod'
import { joinTokenText } from '../../../../../shared/join-token.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import { scopeOf } from '../../../../kernel/declaration/tenant-scope.ts'
import type { NewToken } from '../../join-tokens.ts'
import type { EnrolmentViews } from '../../open.ts'
import type { IdentityViews } from '../../open-identity.ts'
import { Tags, TokenView, tokenViewOf } from './token-view.ts'

const ENROL_GATE = 'gate.cell-enroll'

export default defineOperation({
  id: 'tokens-create',
  description:
    'Create a join token. A token for several machines needs an approval first. The secret is shown only once.',
  method: 'POST',
  path: '/v1/tokens',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'gated',
  tool: false,
  next: 'on the new cell: shoald join {url} --token {secret}',
  input: z.strictObject({
    ttl_minutes: z
      .int()
      .min(1)
      .max(7 * 24 * 60)
      .default(60)
      .describe('Lifetime of the token.'),
    uses: z
      .int()
      .min(1)
      .max(10_000)
      .default(1)
      .describe('Number of machines that may join with it.'),
    role: z.literal('cell').default('cell').describe('Kind of member that the machine becomes.'),
    tags: Tags.default([]).describe('Tags for the new cells.'),
  }),
  output: TokenView.extend({ secret: z.string() }),
  plan: ({ ttl_minutes, uses, tags }) => {
    const plan = { uses, tags, ttlMinutes: ttl_minutes }
    const summary = `a join token for ${uses} machines, valid for ${ttl_minutes} minutes`
    if (uses === 1) return { plan, summary }
    return { plan, covers: { action: 'cell.enrol-many', ...plan }, summary, gate: ENROL_GATE }
  },
  run: async (plan: NewToken, context: Context & EnrolmentViews & IdentityViews, approval) => {
    const { tokens, identity, actor } = context
    const wanted = { ...plan, ...scopeOf(context) }
    const { token, secret } =
      approval === undefined
        ? await tokens.create(wanted, actor)
        : await approval.use(trx => tokens.createWithin(trx, wanted, actor))
    const fingerprint = identity.fingerprint()
    return { ...tokenViewOf(token), secret: joinTokenText({ secret, fingerprint }) }
  },
})
