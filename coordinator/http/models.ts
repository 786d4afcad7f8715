import type { FastifyPluginAsync } from 'fastify'
import { type Catalogue, type CatalogueEntry, weightsLabel } from '../../shared/catalogue.ts'
import { ShoalError } from '../../shared/errors.ts'
import type { ModelEntry, ModelList } from '../../shared/wire/openai.ts'
import { keyOf } from './auth.ts'
import { modelsOfTier } from './model-access.ts'

export interface ModelParts {
  catalogue: Catalogue
  /** Unix time in seconds that `created` says: when this coordinator took up the catalogue. */
  createdAt: number
}

/** `GET /v1/models` and `GET /v1/models/{id}`: what the key's tier may use. */
export const modelRoutes: FastifyPluginAsync<ModelParts> = async (
  app,
  { catalogue, createdAt },
) => {
  const entryOf = (entry: CatalogueEntry): ModelEntry => {
    const weights = weightsLabel(entry)
    return {
      id: entry.id,
      object: 'model',
      created: createdAt,
      owned_by: entry.owned_by,
      ...(weights === undefined ? {} : { weights }),
    }
  }

  app.get('/v1/models', async (request): Promise<ModelList> => {
    const { tier } = keyOf(request)
    return { object: 'list', data: modelsOfTier(catalogue, tier).map(entryOf) }
  })

  // Ids hold `:` and may hold `/`, both plain and encoded.
  app.get<{ Params: { '*': string } }>('/v1/models/*', async (request): Promise<ModelEntry> => {
    const id = request.params['*']
    const entry = modelsOfTier(catalogue, keyOf(request).tier).find(model => model.id === id)
    if (entry === undefined)
      throw new ShoalError('model_not_found', `model ${JSON.stringify(id)} is not available`, {
        param: 'model',
      })
    return entryOf(entry)
  })
}
