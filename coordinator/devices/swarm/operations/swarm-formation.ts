import * as z from 'zod'
import type { GateViews } from '../../../access/gates/open.ts'
import type { ControlViews } from '../../../fleet/control/open.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import type { SwarmViews } from '../open.ts'
import type { PlannedSwarm } from '../plan-swarm.ts'
import { describeFormation, FormationDetails } from './formation-details.ts'
import { formationSuccess } from './formation-success.ts'
import {
  type FormationRunPlan,
  planFormationRun,
  RUN_SECONDS,
  runFormation,
} from './plan-formation-run.ts'
import { FORMATION_SHAPE } from './swarm-input.ts'
import { SwarmPlanView, swarmPlanViewOf } from './swarm-view.ts'

export default defineSkill({
  id: 'swarm-formation',
  group: 'devices',
  name: 'Swarm formation',
  description: 'Move the idle units into a formation. Live execution needs two approvers.',
  tags: ['devices', 'swarm', 'safety'],
  access: 'operator',
  effect: 'gated',
  timeoutSeconds: RUN_SECONDS,
  needsCallKey: ({ dry_run }) => !dry_run,
  input: z.strictObject({
    ...FORMATION_SHAPE,
    dry_run: z.boolean().default(true).describe('Return the plan without moving anything.'),
  }),
  examples: [{ formation: 'circle', spacing_m: 2 }],
  output: z.object({
    /** Null once it is carried out; `started` then has the approved plan. */
    plan: SwarmPlanView.nullable(),
    /** Null in a dry run. */
    started: FormationDetails.nullable(),
  }),
  success: formationSuccess('started'),
  plan: async ({ dry_run, ...input }, context: Context & ControlViews & GateViews & SwarmViews) => {
    if (!dry_run) {
      const planned = await planFormationRun(input, undefined, context)
      return { ...planned, plan: { live: planned.plan } }
    }
    const dry = await context.swarm.plan(input)
    return { plan: { dry }, summary: `${input.formation} of ${dry.units.length} units` }
  },
  show: ({ dry }: SkillPlan) => ({
    plan: dry === undefined ? null : swarmPlanViewOf(dry),
    started: null,
  }),
  run: async ({ live }: SkillPlan, context: Context & SwarmViews, approval) => {
    if (live === undefined) throw new TypeError('a dry run is not carried out')
    const { tenantId } = scopeOf(context)
    const started = await runFormation(live, context, approval, tenantId)
    return { plan: null, started: await describeFormation(started, context) }
  },
})

interface SkillPlan {
  dry?: PlannedSwarm
  live?: FormationRunPlan
}
