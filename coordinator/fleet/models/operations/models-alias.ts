import * as z from 'zod'
import { ModelId } from '../../../../shared/catalogue.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { FleetViews } from '../../cells/open.ts'
import type { ModelViews } from '../open.ts'
import { describeModel, ModelDetails } from './model-view.ts'

export default defineOperation({
  id: 'models-alias',
  description:
    'Give a model another id, such as one that a program insists on. Tier and kind stay those of the model.',
  method: 'PUT',
  path: '/v1/catalogue/{alias}/alias',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  tool: false,
  cli: { group: 'models', verb: 'alias', words: ['model'] },
  input: z.strictObject({
    alias: ModelId.describe('The new id.'),
    model: ModelId.describe('Id of the model that the alias refers to.'),
  }),
  answers: { kind: 'model_add' },
  output: ModelDetails,
  examples: [{ model: 'model-a:7b' }],
  run: async ({ alias, model }, context: Context & FleetViews & ModelViews) => {
    await context.models.change({ act: 'alias', id: alias, aliasOf: model }, context.actor)
    return describeModel(context, alias)
  },
})
