import * as z from 'zod'
import type { GateViews } from '../../../access/gates/open.ts'
import type { ControlViews } from '../../../fleet/control/open.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import type { SwarmViews } from '../open.ts'
import { describeFormation, FormationDetails } from './formation-details.ts'
import { formationSuccess } from './formation-success.ts'
import {
  type FormationRunPlan,
  planFormationRun,
  RUN_SECONDS,
  runFormation,
} from './plan-formation-run.ts'
import { FORMATION_INPUT } from './swarm-input.ts'

export default defineOperation({
  id: 'swarm-run',
  description: 'Move units into a formation. Two persons must approve the plan of all cells.',
  method: 'POST',
  path: '/v1/swarm/formations',
  access: 'operator',
  effect: 'gated',
  timeoutSeconds: RUN_SECONDS,
  needsCallKey: () => true,
  input: z.strictObject({
    ...FORMATION_INPUT,
    start_at: z.iso
      .datetime({ offset: true })
      .max(40)
      .exactOptional()
      .describe('Start of the moves; a few seconds after the approved call by default.'),
  }),
  examples: [{ formation: 'line', spacing_m: 1.5 }],
  output: FormationDetails,
  success: formationSuccess(),
  plan: ({ start_at, ...input }, context: Context & ControlViews & GateViews & SwarmViews) =>
    planFormationRun(input, start_at === undefined ? undefined : Date.parse(start_at), context),
  run: async (plan: FormationRunPlan, context: Context & SwarmViews, approval) => {
    const { tenantId } = scopeOf(context)
    return describeFormation(await runFormation(plan, context, approval, tenantId), context)
  },
})
