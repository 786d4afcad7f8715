import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { SwarmViews } from '../open.ts'
import {
  describeFormation,
  FormationDetails,
  FormationId,
  requireFormation,
} from './formation-details.ts'

export default defineOperation({
  id: 'swarm-show',
  description: 'Show a formation: its plan, the commands of its cells and the ends of its units.',
  method: 'GET',
  path: '/v1/swarm/formations/{formation_id}',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({ formation_id: FormationId }),
  output: FormationDetails,
  run: async ({ formation_id }, context: Context & SwarmViews) =>
    describeFormation(await requireFormation(formation_id, context), context),
})
