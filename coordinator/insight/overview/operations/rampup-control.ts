import * as z from 'zod'
import { starterOf } from '../../../agents/flows/operations/starter.ts'
import type { RampUpViews } from '../../../fleet/rampup/open.ts'
import type { RampUpPlan } from '../../../fleet/rampup/ramp-up.ts'
import { RAMP_UP_GATE } from '../../../fleet/rampup/ramp-ups.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState } from '../../../kernel/declaration/data-state.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import { RampUpOverview, rampUpOverviewOf } from '../platform-overview.ts'

export default defineSkill({
  id: 'rampup-control',
  group: 'fleet',
  name: 'Ramp-up control',
  description:
    'Roll configured settings, such as more slots, out over the cells in stages. A fault restores the earlier settings.',
  tags: ['fleet', 'rollout', 'gates'],
  access: 'operator',
  effect: 'gated',
  input: z.strictObject({
    action: z
      .enum(['start', 'status', 'abort'])
      .describe(
        '`start` passes gate.production-deploy, and rampup-plan is its dry run; `abort` restores the earlier settings.',
      ),
  }),
  examples: [{ action: 'status' }],
  output: RampUpOverview.extend({
    data_state: DataState.describe('`empty`: nothing was started; configure `rampup` and start.'),
  }),
  toLoad: '`rampup` in the configuration of the coordinator, and a start; docs/flows.md',
  plan: async ({ action }, { rampUps }: RampUpViews) => {
    if (action !== 'start') return { plan: { action }, summary: action }
    const plan = await rampUps.plan()
    const { stages, hold_seconds } = plan
    const cells = stages.flat().length
    return {
      plan: { action, plan },
      covers: plan,
      gate: RAMP_UP_GATE,
      subject: 'rampup',
      summary: `Roll settings out to ${cells} cells in ${stages.length} stages, each watched for ${hold_seconds} s.`,
    }
  },
  run: async ({ action, plan }: Plan, context: Context & RampUpViews, approval) => {
    const { rampUps } = context
    const { tenantId } = scopeOf(context)
    if (plan !== undefined && approval !== undefined) {
      await approval.use(trx => rampUps.startWithin(trx, plan, starterOf(context)))
      rampUps.wake()
    }
    if (action === 'abort') await rampUps.abort(tenantId, context.actor)
    return rampUpOverviewOf(context)
  },
})

interface Plan {
  action: 'start' | 'status' | 'abort'
  /** The plan of a start. */
  plan?: RampUpPlan
}
