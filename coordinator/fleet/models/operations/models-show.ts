import * as z from 'zod'
import { ModelFacts } from '../../../../shared/wire/model-facts.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { FleetViews } from '../../cells/open.ts'
import { findModelFacts } from '../../questions/ask-model-facts.ts'
import type { ModelViews } from '../open.ts'
import { describeModel, ModelDetails, ModelPath } from './model-view.ts'

export default defineOperation({
  id: 'models-show',
  description:
    'Show a model: where its weights come from, its state, progress and memory on each cell, and what the file states about itself.',
  method: 'GET',
  path: '/v1/catalogue/{model}',
  access: 'operator',
  effect: 'read',
  tool: false,
  timeoutSeconds: 30,
  input: ModelPath.extend({
    file: z.boolean().default(true).describe('Read the header of the file on a cell that has it.'),
    template: z.boolean().default(false).describe('Include the whole chat template.'),
  }),
  output: ModelDetails.extend({
    file: ModelFacts.nullable().describe(
      'Architecture, quantisation, context, licence and template; null while no cell can read it.',
    ),
  }),
  run: async ({ model, file, template }, context: Context & FleetViews & ModelViews) => {
    const details = describeModel(context, model)
    const { fleet, signal } = context
    const facts = file ? await findModelFacts(fleet.cells(), model, signal) : null
    return {
      ...details,
      file: facts && (template ? facts : { ...facts, chat_template: null }),
    }
  },
})
