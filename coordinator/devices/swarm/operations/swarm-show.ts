import * as z from 'zod'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
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
  run: async ({ formation_id }, context) =>
    describeFormation(await requireFormation(formation_id, context), context),
})
