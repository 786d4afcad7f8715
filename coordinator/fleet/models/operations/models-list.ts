import * as z from 'zod'
import { CatalogueEntry, TIER_NAMES, weightsLabel } from '../../../../shared/catalogue.ts'
import { isOperator } from '../../../access/keys/key.ts'
import { modelsOfTier } from '../../../access/quota/tier-models.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { FleetViews } from '../../cells/open.ts'
import { contextInForce } from '../../routing/context-in-force.ts'
import type { Pool } from '../../routing/pool.ts'
import type { ModelViews } from '../open.ts'
import { describeModel, findOrigin, ModelOrigin } from './model-view.ts'

const ModelView = z.object({
  id: z.string().describe('Id to send as `model` in requests.'),
  kind: CatalogueEntry.shape.kind,
  minimum_tier: z.enum(TIER_NAMES),
  context_length: z
    .int()
    .describe('Largest number of tokens of one request: prompt and answer together.'),
  state: z
    .enum(['ready', 'cold', 'unavailable'])
    .describe('`cold` models are loading now, or are loaded by their first request.'),
  cells_ready: z.int().describe('Cells that have the model loaded and accept your requests.'),
  cells: z.int().describe('Cells that are ready, and cells that could load the model.'),
  owned_by: z.string(),
  note: z.string(),
  origin: ModelOrigin,
  weights: z.string().nullable().describe('`bundled-demo` for the weights shipped with shoal.'),
  reason: z
    .string()
    .nullable()
    .describe('For operators: why a model is not ready, of the first cell that states it.'),
})

export default defineOperation({
  id: 'models-list',
  description: 'List the models that your key may use, and whether they are loaded.',
  method: 'GET',
  path: '/v1/catalogue',
  access: 'key',
  effect: 'read',
  input: z.strictObject({
    kind: CatalogueEntry.shape.kind.exactOptional().describe('Only models of this kind.'),
  }),
  output: z.object({ models: z.array(ModelView) }),
  run: ({ kind }, context: Context & FleetViews & ModelViews) => {
    const { key, tenantId, catalogue, routing } = context
    const sees = key !== undefined && isOperator(key)
    return {
      models: modelsOfTier(catalogue, key?.tier ?? 'free')
        .filter(entry => (kind ?? entry.kind) === entry.kind)
        .map(entry => {
          const view = modelView(entry, routing.router.pools(entry.id, tenantId))
          const reason = sees && view.state !== 'ready' ? findReason(context, entry.id) : null
          return { ...view, origin: findOrigin(context.models, entry.id), reason }
        }),
    }
  },
})

/** A reason can name files of a cell, which clients of the API have no business with. */
const findReason = (context: FleetViews & ModelViews, id: string): string | null =>
  describeModel(context, id).cells.find(({ reason }) => reason !== null)?.reason ?? null

const modelView = (
  entry: CatalogueEntry,
  pools: Pool[],
): Omit<z.input<typeof ModelView>, 'origin' | 'reason'> => {
  const { id, kind, minimum_tier, owned_by, note } = entry
  const engines = pools.flatMap(pool => pool.engines)
  const cells_ready = engines.filter(({ ready }) => ready).length
  const state = cells_ready > 0 ? 'ready' : engines.length > 0 ? 'cold' : 'unavailable'
  const weights = weightsLabel(entry) ?? null
  return {
    id,
    kind,
    minimum_tier,
    context_length: contextInForce(entry, engines),
    state,
    cells_ready,
    cells: engines.length,
    owned_by,
    note,
    weights,
  }
}
