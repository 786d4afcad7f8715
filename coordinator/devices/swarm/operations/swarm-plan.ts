import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { SwarmViews } from '../open.ts'
import { FormationInput } from './swarm-input.ts'
import { SwarmPlanView, swarmPlanViewOf } from './swarm-view.ts'

export default defineOperation({
  id: 'swarm-plan',
  description: 'Plan a formation without moving anything: slots, ways, clearance, excluded units.',
  method: 'POST',
  path: '/v1/swarm/plan',
  access: 'operator',
  effect: 'read',
  input: FormationInput,
  examples: [{ formation: 'circle', spacing_m: 2 }],
  output: SwarmPlanView,
  run: async (input, { swarm }: SwarmViews) => swarmPlanViewOf(await swarm.plan(input)),
})
