import * as z from 'zod'
import type { CallViews } from '../../../calls/invoke/call-views.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import type { FlowViews } from '../open.ts'
import { RunView, runViewOf, StepView, stepViewOf } from './flow-view.ts'
import { starterOf } from './starter.ts'

export default defineSkill({
  id: 'synergy-trigger',
  group: 'fleet',
  name: 'Trigger synergy',
  description:
    'Run the flows of a synergy one after another, from the queue. Each step passes its own gates.',
  tags: ['flows', 'synergies', 'queue'],
  access: 'operator',
  effect: 'write',
  input: z.strictObject({
    synergy_id: z.string().max(64).describe('Id of a configured synergy.'),
    dry_run: z.boolean().default(true).describe('Return the steps without starting anything.'),
  }),
  examples: [{ synergy_id: 'nightly' }],
  output: z.object({
    synergy_id: z.string(),
    flow_ids: z.array(z.string()),
    steps: z.array(
      StepView.extend({
        effect: z
          .enum(['read', 'write', 'gated'])
          .nullable()
          .describe('Effect of the skill; null for a gate.'),
      }),
    ),
    cost_eur: z.number().describe('Expected cost of a run.'),
    started: RunView.nullable().describe('The run that was started; null in a dry run.'),
  }),
  run: async ({ synergy_id, dry_run }, context: Context & CallViews & FlowViews) => {
    const { flows, skills } = context
    const synergy = flows.synergy(synergy_id)
    const started = dry_run ? undefined : await flows.start(synergy, starterOf(context))
    return {
      synergy_id,
      flow_ids: flows.synergies[synergy_id]?.flows ?? [],
      steps: synergy.steps.map(step => ({
        ...stepViewOf(step),
        effect: skills.find(({ id }) => id === step.skill)?.effect ?? null,
      })),
      cost_eur: synergy.cost_eur,
      started: started === undefined ? null : runViewOf(started),
    }
  },
})
