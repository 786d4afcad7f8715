import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { SwarmViews } from '../open.ts'
import { describeFormation, FormationDetails, FormationId } from './formation-details.ts'
import { ABORT_SUCCESS } from './formation-success.ts'

export default defineOperation({
  id: 'swarm-abort',
  description: 'Stop all units of a formation at once. It needs no approval.',
  method: 'POST',
  path: '/v1/swarm/formations/{formation_id}/abort',
  access: 'operator',
  effect: 'gated',
  isEmergency: true,
  input: z.strictObject({
    formation_id: FormationId,
    reason: z.string().min(1).max(300).default('an operator has aborted it').describe('Reason.'),
  }),
  examples: [{ reason: 'a visitor is in the hall' }],
  output: FormationDetails,
  success: ABORT_SUCCESS,
  // a stop only reduces risk, so that its plan is the input and no gate delays it
  plan: plan => ({ plan, summary: `abort formation ${plan.formation_id}` }),
  run: async ({ formation_id, reason }: Abort, context: Context & SwarmViews) => {
    const { formations, actor } = context
    return describeFormation(await formations.abort(formation_id, reason, actor), context)
  },
})

interface Abort {
  formation_id: string
  reason: string
}
