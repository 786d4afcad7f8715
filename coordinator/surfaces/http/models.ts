import type { FastifyPluginAsync } from 'fastify'
import { type Catalogue, type CatalogueEntry, weightsLabel } from '../../../shared/catalogue.ts'
import { createMissingModelError } from '../../../shared/catalogue-errors.ts'
import { ModelEntry, ModelList } from '../../../shared/wire/openai.ts'
import { modelsOfTier } from '../../access/quota/tier-models.ts'
import { requireKey } from './auth.ts'
import { contextOf, groupReports, type ReportSources } from './model-reports.ts'

interface ModelParts extends ReportSources {
  catalogue: Catalogue
  /** Unix time in seconds that `created` says: when this coordinator took up the catalogue. */
  createdAt: number
}

const LIST = {
  id: 'list-models',
  tag: 'models',
  summary: "List the models that the key's tier may use.",
  answer: ModelList,
}
const SHOW = {
  id: 'show-model',
  tag: 'models',
  summary: "Show one model; ':' in its id may be sent as is or as %3A.",
  path: '/v1/models/{model}',
  answer: ModelEntry,
}

interface Show {
  Params: { '*': string }
}

/** `GET /v1/models` and `GET /v1/models/{id}`: models that the key's tier may use. */
export const modelRoutes: FastifyPluginAsync<ModelParts> = async (
  app,
  { catalogue, createdAt, ...sources },
) => {
  const entryOf = (entry: CatalogueEntry, reports: ReturnType<typeof groupReports>): ModelEntry => {
    const weights = weightsLabel(entry)
    return {
      id: entry.id,
      object: 'model',
      created: createdAt,
      owned_by: entry.owned_by,
      ...(weights === undefined ? {} : { weights }),
      context_length: contextOf(entry, reports.get(entry.id) ?? []),
    }
  }

  app.get('/v1/models', { config: { docs: LIST } }, async (request): Promise<ModelList> => {
    const { tier } = requireKey(request)
    const reports = groupReports(sources, request.tenantId)
    const data = modelsOfTier(catalogue, tier).map(entry => entryOf(entry, reports))
    return { object: 'list', data }
  })

  // Ids hold `:` and may hold `/`, both plain and encoded.
  const config = { docs: SHOW }
  app.get<Show>('/v1/models/*', { config }, async (request): Promise<ModelEntry> => {
    const id = request.params['*']
    const entry = modelsOfTier(catalogue, requireKey(request).tier).find(model => model.id === id)
    if (entry === undefined) throw createMissingModelError(id)
    return entryOf(entry, groupReports(sources, request.tenantId))
  })
}
