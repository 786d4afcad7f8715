import * as z from 'zod'
import { iso, isoOrNull } from '../../../shared/time.ts'
import type { Context } from '../../operations/context.ts'
import { DataState, dataState } from '../../operations/data-state.ts'
import { starterOf } from '../../operations/flows/starter.ts'
import { scopeOf } from '../../operations/tenant-scope.ts'
import { RAMP_UP_STATES, type RampUp, type RampUpPlan } from '../../rampup/ramp-up.ts'
import { defineSkill } from '../skill.ts'

const RampUpView = z.object({
  ramp_up_id: z.string(),
  job_id: z.string(),
  state: z.enum(RAMP_UP_STATES),
  reason: z.string().nullable().describe('Why it was aborted.'),
  document: z.json().describe('Settings that the cells get.'),
  stage: z.int().describe('Stage in progress, from 1.'),
  stages: z.array(z.object({ cell_ids: z.array(z.string()) })),
  holding: z.boolean().describe('True while the cells of the stage are watched.'),
  started_at: z.iso.datetime(),
  ended_at: z.iso.datetime().nullable(),
})

export default defineSkill({
  id: 'rampup-control',
  name: 'Ramp-up control',
  description:
    'Roll configured settings, such as more slots, out over the cells in stages. A fault restores the earlier settings.',
  tags: ['fleet', 'rollout', 'gates'],
  access: 'operator',
  effect: 'gated',
  input: z.strictObject({
    action: z
      .enum(['start', 'status', 'abort'])
      .describe('`start` passes gate.production-deploy; `abort` restores the earlier settings.'),
  }),
  examples: [{ action: 'status' }],
  output: z.object({
    data_state: DataState.describe('`empty`: nothing was started; configure `rampup` and start.'),
    configured: z.boolean(),
    ramp_up: RampUpView.nullable().describe('Newest ramp-up of the tenant.'),
  }),
  plan: async ({ action }, { rampUps }) => {
    if (action !== 'start') return { plan: { action }, summary: action }
    const plan = await rampUps.plan()
    const { stages, hold_seconds } = plan
    const cells = stages.flat().length
    return {
      plan: { action, plan },
      covers: plan,
      gate: 'gate.production-deploy',
      subject: 'rampup',
      summary: `Roll settings out to ${cells} cells in ${stages.length} stages, each watched for ${hold_seconds} s.`,
    }
  },
  run: async ({ action, plan }: Plan, context, approval) => {
    const { rampUps } = context
    const { tenantId } = scopeOf(context)
    if (plan !== undefined && approval !== undefined) {
      await approval.use(trx => rampUps.startWithin(trx, plan, starterOf(context)))
      rampUps.wake()
    }
    if (action === 'abort') await rampUps.abort(tenantId, context.actor)
    return answerOf(context, await rampUps.latest(tenantId))
  },
})

interface Plan {
  action: 'start' | 'status' | 'abort'
  /** The plan of a start. */
  plan?: RampUpPlan
}

const answerOf = ({ rampUps }: Context, rampUp: RampUp | undefined) => ({
  data_state: dataState(rampUp === undefined ? 0 : 1),
  configured: rampUps.isConfigured,
  ramp_up: rampUp === undefined ? null : viewOf(rampUp),
})

const viewOf = (rampUp: RampUp): z.input<typeof RampUpView> => ({
  ramp_up_id: rampUp.id,
  job_id: rampUp.jobId,
  state: rampUp.state,
  reason: rampUp.reason ?? null,
  document: rampUp.plan.document as z.core.util.JSONType,
  stage: rampUp.stage + 1,
  stages: rampUp.plan.stages.map(cell_ids => ({ cell_ids })),
  holding: rampUp.state === 'running' && rampUp.heldSince !== undefined,
  started_at: iso(rampUp.createdAt),
  ended_at: isoOrNull(rampUp.endedAt),
})
