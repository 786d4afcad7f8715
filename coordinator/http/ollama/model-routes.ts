import { hash } from 'node:crypto'
import type { FastifyPluginAsync } from 'fastify'
import type { Catalogue, CatalogueEntry } from '../../../shared/catalogue.ts'
import { ShoalError } from '../../../shared/errors.ts'
import type { EngineReport } from '../../../shared/wire/telemetry.ts'
import { engineReports, isRoutable } from '../../fleet/cell.ts'
import type { Fleet } from '../../fleet/fleet.ts'
import { modelsOfTier } from '../../quota/tier-models.ts'
import { requireKey } from '../auth.ts'
import {
  type Details,
  type Loaded,
  PS_DOCS,
  refusalDocs,
  SHOW_DOCS,
  type Shown,
  ShowRequest,
  TAGS_DOCS,
  type Tags,
  VERSION_DOCS,
} from './docs.ts'
import { parseOllamaBody } from './fields.ts'
import { modelIdOf, taggedName } from './model-names.ts'

/** Release of Ollama whose API these routes follow; clients refuse to work with an old one. */
const OLLAMA_VERSION = '0.12.6'
/** A model stays loaded as long as the fleet wants. */
const NEVER = '9999-12-31T23:59:59Z'

interface OllamaModelParts {
  catalogue: Catalogue
  fleet: Pick<Fleet, 'cells'>
  /** True when requests of a tenant may run on a cell. */
  mayUse: (cellId: string, tenantId: string | undefined) => boolean
  /** Unix time in seconds at which this coordinator took up the catalogue. */
  createdAt: number
}

/** `GET /api/version`, `/api/tags`, `/api/ps`, `POST /api/show`, and the writes, which are refused. */
export const ollamaModelRoutes: FastifyPluginAsync<OllamaModelParts> = async (app, parts) => {
  const { catalogue } = parts
  const modified_at = new Date(parts.createdAt * 1000).toISOString()

  const open = { access: 'none' as const, docs: VERSION_DOCS }
  app.get('/api/version', { config: open }, async () => ({ version: OLLAMA_VERSION }))

  app.get('/api/tags', { config: { docs: TAGS_DOCS } }, async (request): Promise<Tags> => {
    const models = modelsOfTier(catalogue, requireKey(request).tier)
    const reports = groupReports(parts, request.tenantId)
    return {
      models: models.map(entry => {
        const size = largest(reports.get(entry.id) ?? [], 'file_bytes')
        return { ...listed(entry, size), modified_at }
      }),
    }
  })

  app.get('/api/ps', { config: { docs: PS_DOCS } }, async (request): Promise<Loaded> => {
    const models = modelsOfTier(catalogue, requireKey(request).tier)
    const reports = groupReports(parts, request.tenantId)
    return { models: models.flatMap(entry => loadedEntry(entry, reports.get(entry.id) ?? [])) }
  })

  app.post('/api/show', { config: { docs: SHOW_DOCS } }, async (request): Promise<Shown> => {
    const { model, name } = parseOllamaBody(ShowRequest, request.body)
    const asked = model ?? name ?? ''
    const models = modelsOfTier(catalogue, requireKey(request).tier)
    const id = modelIdOf(models, asked)
    const entry = models.find(model => model.id === id)
    if (entry === undefined)
      throw new ShoalError('model_not_found', `model ${JSON.stringify(asked)} is not available`, {
        param: 'model',
      })
    return { ...shown(entry), modified_at }
  })

  for (const { id, method, remedy } of WRITES)
    app.route({
      method,
      url: `/api/${id}`,
      config: { docs: refusalDocs(id) },
      handler: async () => {
        throw new ShoalError('forbidden', `${id} is not offered here: ${remedy}`)
      },
    })
}

const ADD = 'an operator adds models with: shoal models add NAME --path FILE'
const WRITES = [
  {
    id: 'pull',
    method: 'POST',
    remedy: 'an operator adds models with: shoal models add NAME hf:…',
  },
  { id: 'create', method: 'POST', remedy: ADD },
  {
    id: 'delete',
    method: 'DELETE',
    remedy: 'an operator removes models with: shoal models remove NAME',
  },
  {
    id: 'copy',
    method: 'POST',
    remedy: 'an operator gives a model another name with: shoal models alias NAME MODEL',
  },
  {
    id: 'push',
    method: 'POST',
    remedy: 'shoal publishes no weights; shoal models show NAME tells where they are',
  },
] as const

/** The coordinator does not read weights. */
const DETAILS: Details = {
  parent_model: '',
  format: 'gguf',
  family: '',
  families: [],
  parameter_size: '',
  quantization_level: '',
}

const listed = (entry: CatalogueEntry, size: number): Omit<Tags['models'][0], 'modified_at'> => ({
  name: taggedName(entry.id),
  model: taggedName(entry.id),
  size,
  digest: hash('sha256', JSON.stringify(entry)),
  details: DETAILS,
})

interface Found {
  report: EngineReport
  hasGpu: boolean
}

/** Reports of the cells that serve the tenant, by id of the model. */
const groupReports = (
  { fleet, mayUse }: Pick<OllamaModelParts, 'fleet' | 'mayUse'>,
  tenantId: string | undefined,
): Map<string, Found[]> => {
  const reports = new Map<string, Found[]>()
  for (const cell of fleet.cells()) {
    if (!isRoutable(cell) || !mayUse(cell.id, tenantId)) continue
    const hasGpu = (cell.sample?.gpus.length ?? 0) > 0
    for (const report of engineReports(cell))
      for (const model of report.models) {
        const found = reports.get(model)
        if (found === undefined) reports.set(model, [{ report, hasGpu }])
        else found.push({ report, hasGpu })
      }
  }
  return reports
}

/** One entry for a model that is loaded on a cell which serves the tenant. */
const loadedEntry = (entry: CatalogueEntry, reports: readonly Found[]): Loaded['models'] => {
  const found = reports.filter(({ report }) => report.state === 'ready')
  if (found.length === 0) return []
  const onGpu = found.filter(({ hasGpu }) => hasGpu)
  const size = largest(found, 'memory_bytes')
  const size_vram = largest(onGpu, 'memory_bytes')
  const { context_length } = entry
  return [{ ...listed(entry, size), expires_at: NEVER, size_vram, context_length }]
}

const largest = (
  found: readonly Pick<Found, 'report'>[],
  field: 'file_bytes' | 'memory_bytes',
): number => Math.max(0, ...found.map(({ report }) => report[field] ?? 0))

const CAPABILITIES: Record<CatalogueEntry['kind'], Shown['capabilities']> = {
  chat: ['completion', 'tools'],
  embedding: ['embedding'],
  rerank: [],
}

const shown = (entry: CatalogueEntry): Omit<Shown, 'modified_at'> => ({
  license: '',
  modelfile: '',
  parameters: '',
  template: '',
  details: DETAILS,
  model_info: {
    'general.architecture': 'shoal',
    'general.basename': entry.id,
    'shoal.context_length': entry.context_length,
  },
  capabilities: CAPABILITIES[entry.kind],
})
