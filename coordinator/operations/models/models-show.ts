import * as z from 'zod'
import { NEEDS } from '../../../shared/wire/capability.ts'
import { ModelFacts } from '../../../shared/wire/model-facts.ts'
import { askModelFacts } from '../../fleet/ask-model-facts.ts'
import type { Context } from '../context.ts'
import { defineOperation } from '../operation.ts'
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
  run: async ({ model, file, template }, context) => {
    const details = describeModel(context, model)
    const facts = file ? await readFacts(context, model, details.cells) : null
    return {
      ...details,
      file: facts && (template ? facts : { ...facts, chat_template: null }),
    }
  },
})

/** Asks cells that have the file in turn, until one answers. */
const readFacts = async (
  { fleet, signal }: Context,
  model: string,
  cells: readonly { cell_id: string; file_bytes: number | null }[],
): Promise<ModelFacts | null> => {
  for (const { cell_id, file_bytes } of cells) {
    const cell = fleet.cell(cell_id)
    const isAble = (cell?.announce?.capability ?? 0) >= NEEDS.models && cell?.link !== undefined
    if (file_bytes === null || !isAble) continue
    const facts = await askModelFacts(fleet, cell_id, model, signal).catch(() => null)
    signal.throwIfAborted()
    if (facts !== null) return facts
  }
  return null
}
