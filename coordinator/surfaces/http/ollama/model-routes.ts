import { hash } from 'node:crypto'
import type { FastifyPluginAsync } from 'fastify'
import type { Catalogue, CatalogueEntry } from '../../../../shared/catalogue.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import type { ModelFacts } from '../../../../shared/wire/model-facts.ts'
import { readRequest } from '../../../../shared/wire/read-request.ts'
import { modelsOfTier } from '../../../access/quota/tier-models.ts'
import type { Fleet } from '../../../fleet/cells/fleet.ts'
import type { ModelFactsMemory } from '../../../fleet/questions/model-facts-memory.ts'
import { requireKey } from '../auth.ts'
import { parseJsonBody } from '../json-body.ts'
import { contextOf, type Found, groupReports } from '../model-reports.ts'
import { nameIgnored, requireNoneIgnored } from '../take-body.ts'
import {
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
import { detailsOf, modelInfo } from './model-details.ts'
import { addTag, modelIdOf } from './model-names.ts'

/** Release of Ollama whose API these routes follow; clients refuse to work with an old one. */
const OLLAMA_VERSION = '0.12.6'
/** A model stays loaded as long as the fleet wants. */
const NEVER = '9999-12-31T23:59:59Z'

interface OllamaModelParts {
  catalogue: Catalogue
  fleet: Pick<Fleet, 'cells'>
  /** True when requests of a tenant may run on a cell. */
  mayUse: (cellId: string, tenantId: string | undefined) => boolean
  /** What the files of models state about themselves. */
  modelFacts: Pick<ModelFactsMemory, 'find' | 'prepare'>
  /** Unix time in seconds at which this coordinator took up the catalogue. */
  createdAt: number
}

/** `GET /api/version`, `/api/tags`, `/api/ps`, `POST /api/show`, and the writes, which are refused. */
export const ollamaModelRoutes: FastifyPluginAsync<OllamaModelParts> = async (app, parts) => {
  const { catalogue, modelFacts } = parts
  const modified_at = new Date(parts.createdAt * 1000).toISOString()
  // Ollama's server does not look at the content type
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) =>
    parseBytes(body as Buffer).then(read => done(null, read), done),
  )

  const open = { access: 'none' as const, docs: VERSION_DOCS }
  app.get('/api/version', { config: open }, async () => ({ version: OLLAMA_VERSION }))

  app.get('/api/tags', { config: { docs: TAGS_DOCS } }, async (request): Promise<Tags> => {
    const models = modelsOfTier(catalogue, requireKey(request).tier)
    const { tenantId } = request
    await modelFacts.prepare(models, tenantId)
    const reports = groupReports(parts, tenantId)
    return {
      models: models.map(entry => {
        const size = largest(reports.get(entry.id) ?? [], 'file_bytes')
        return { ...toListed(entry, size, modelFacts.find(entry, tenantId)), modified_at }
      }),
    }
  })

  app.get('/api/ps', { config: { docs: PS_DOCS } }, async (request): Promise<Loaded> => {
    const models = modelsOfTier(catalogue, requireKey(request).tier)
    const { tenantId } = request
    const reports = groupReports(parts, tenantId)
    const isLoaded = ({ report }: Found) => report.state === 'ready'
    const loaded = models.filter(({ id }) => reports.get(id)?.some(isLoaded))
    await modelFacts.prepare(loaded, tenantId)
    return {
      models: loaded.map(entry => {
        const found = (reports.get(entry.id) ?? []).filter(isLoaded)
        return toLoadedEntry(entry, found, modelFacts.find(entry, tenantId))
      }),
    }
  })

  app.post('/api/show', { config: { docs: SHOW_DOCS } }, async (request, reply): Promise<Shown> => {
    const { request: read, ignored } = readRequest({ schema: ShowRequest }, request.body)
    requireNoneIgnored(request.key, ignored)
    reply.headers(nameIgnored({}, ignored))
    const { model, name } = read
    const asked = model ?? name ?? ''
    const models = modelsOfTier(catalogue, requireKey(request).tier)
    const id = modelIdOf(models, asked)
    const entry = models.find(model => model.id === id)
    if (entry === undefined)
      throw new ShoalError('model_not_found', `model '${asked}' not found`, {
        param: 'model',
      })
    await modelFacts.prepare([entry], request.tenantId)
    const found = groupReports(parts, request.tenantId).get(entry.id) ?? []
    const facts = modelFacts.find(entry, request.tenantId)
    return { ...toShown(entry, contextOf(entry, found), facts), modified_at }
  })

  for (const { id, remedy, ...at } of WRITES)
    app.route({
      method: 'method' in at ? at.method : 'POST',
      url: `/api/${'path' in at ? at.path : id}`,
      config: { docs: refusalDocs(id) },
      handler: async () => {
        throw new ShoalError('forbidden', `${id} is not offered here: ${remedy}`)
      },
    })
}

const parseBytes = async (bytes: Buffer): Promise<unknown> => parseJsonBody(bytes)

const ADD = 'an operator adds models with: shoal models add NAME --path FILE'
const WRITES = [
  {
    id: 'pull',
    remedy:
      'an operator adds models with: shoal models add NAME hf:…, and downloads them with: shoal models pull NAME',
  },
  { id: 'create', remedy: ADD },
  { id: 'blobs', path: 'blobs/:digest', remedy: ADD },
  {
    id: 'delete',
    method: 'DELETE',
    remedy: 'an operator removes models with: shoal models remove NAME',
  },
  {
    id: 'copy',
    remedy: 'an operator gives a model another name with: shoal models alias NAME MODEL',
  },
  {
    id: 'push',
    remedy: 'shoal publishes no weights; shoal models show NAME shows where they are',
  },
] as const satisfies { id: string; path?: string; method?: 'DELETE'; remedy: string }[]

const toListed = (
  entry: CatalogueEntry,
  size: number,
  facts: ModelFacts | undefined,
): Omit<Tags['models'][0], 'modified_at'> => ({
  name: addTag(entry.id),
  model: addTag(entry.id),
  size,
  digest: hash('sha256', JSON.stringify(entry)),
  details: detailsOf(facts),
})

/** Entry of a model that is loaded on cells which serve the tenant. */
const toLoadedEntry = (
  entry: CatalogueEntry,
  found: readonly Found[],
  facts: ModelFacts | undefined,
): Loaded['models'][0] => {
  const onGpu = found.filter(({ hasGpu }) => hasGpu)
  const size = largest(found, 'memory_bytes')
  const size_vram = largest(onGpu, 'memory_bytes')
  const context_length = contextOf(entry, found)
  return { ...toListed(entry, size, facts), expires_at: NEVER, size_vram, context_length }
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

const toShown = (
  entry: CatalogueEntry,
  contextLength: number,
  facts: ModelFacts | undefined,
): Omit<Shown, 'modified_at'> => ({
  license: [facts?.licence, facts?.licence_url].filter(text => text).join('\n'),
  modelfile: '',
  parameters: '',
  template: facts?.chat_template ?? '',
  details: detailsOf(facts),
  model_info: modelInfo(entry, contextLength, facts),
  capabilities: CAPABILITIES[entry.kind],
})
