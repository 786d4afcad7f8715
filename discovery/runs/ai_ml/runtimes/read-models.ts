import * as z from 'zod'
import { MAX_MODELS, type RuntimeModel } from './runtime.ts'
import type { RuntimePort } from './runtime-port.ts'

/** Reads the models of a runtime; undefined when it does not answer with a list. */
export type ReadModels = (endpoint: RuntimePort) => Promise<RuntimeModel[] | undefined>

const Count = z.number().nonnegative().nullish().catch(null)
const Word = z.string().nullish().catch(null)

export const OpenAiList = z.object({
  object: z.literal('list').optional(),
  data: z.array(
    z.object({
      id: z.string(),
      owned_by: Word,
      max_model_len: Count,
      context_length: Count,
      meta: z.object({ size: Count, n_params: Count, n_ctx_train: Count }).nullish().catch(null),
    }),
  ),
})

/** Models of the list of the OpenAI API, with the fields that runtimes add. */
export const readOpenAiModels =
  (path = '/v1/models'): ReadModels =>
  async endpoint =>
    OpenAiList.safeParse(await endpoint.read(path))
      .data?.data.slice(0, MAX_MODELS)
      .map(model =>
        describeModel(model.id, {
          loaded: true,
          size_bytes: model.meta?.size ?? null,
          parameters: printCount(model.meta?.n_params),
          context_length:
            model.max_model_len ?? model.context_length ?? model.meta?.n_ctx_train ?? null,
        }),
      )

const OllamaModel = z.object({
  name: z.string(),
  size: Count,
  size_vram: Count,
  context_length: Count,
  remote_host: Word,
  details: z.object({ parameter_size: Word, quantization_level: Word }).nullish().catch(null),
})
const OllamaList = z.object({ models: z.array(OllamaModel) })

/** Models of Ollama: all of `/api/tags`, and of `/api/ps` those in memory (its API documentation). */
export const readOllamaModels: ReadModels = async endpoint => {
  const all = OllamaList.safeParse(await endpoint.read('/api/tags')).data?.models
  const running = OllamaList.safeParse(await endpoint.read('/api/ps')).data?.models ?? []
  return all?.slice(0, MAX_MODELS).map(model => {
    const loaded = running.find(({ name }) => name === model.name)
    return describeModel(model.name, {
      loaded: loaded !== undefined,
      // models of the cloud hold no local memory
      size_bytes: model.remote_host ? null : (model.size ?? null),
      vram_bytes: loaded?.size_vram ?? null,
      parameters: model.details?.parameter_size || null,
      quantization: model.details?.quantization_level || null,
      context_length: loaded?.context_length ?? null,
    })
  })
}

const StudioList = z.object({
  models: z.array(
    z.object({
      key: z.string(),
      type: Word,
      size_bytes: Count,
      params_string: Word,
      max_context_length: Count,
      quantization: z.object({ name: Word }).nullish().catch(null),
      loaded_instances: z.array(z.unknown()).default([]),
    }),
  ),
})

/** Models of LM Studio, REST API v1 (its documentation). */
export const readStudioModels: ReadModels = async endpoint =>
  StudioList.safeParse(await endpoint.read('/api/v1/models'))
    .data?.models.slice(0, MAX_MODELS)
    .map(model =>
      describeModel(model.key, {
        loaded: model.loaded_instances.length > 0,
        size_bytes: model.size_bytes ?? null,
        parameters: model.params_string ?? null,
        quantization: model.quantization?.name ?? null,
        context_length: model.max_context_length ?? null,
        ...(model.type === 'embedding' ? { type: 'embedding' } : {}),
      }),
    )

const OlderStudioList = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      type: Word,
      state: Word,
      quantization: Word,
      max_context_length: Count,
    }),
  ),
})

/** Models of LM Studio, REST API v0. */
export const readOlderStudioModels: ReadModels = async endpoint =>
  OlderStudioList.safeParse(await endpoint.read('/api/v0/models'))
    .data?.data.slice(0, MAX_MODELS)
    .map(model =>
      describeModel(model.id, {
        loaded: model.state === 'loaded',
        quantization: model.quantization ?? null,
        context_length: model.max_context_length ?? null,
        ...(model.type === 'embeddings' ? { type: 'embedding' } : {}),
      }),
    )

const EMBEDDING = /embed|\bbge-|\be5-|minilm/i
const VISION = /vision|llava|[-_]vl\b|-vl-/i

/** A model by its name; a path of weights is shortened to the file. */
export const describeModel = (name: string, known: Partial<RuntimeModel>): RuntimeModel => ({
  id: (name.startsWith('/') ? (name.split('/').at(-1) ?? name) : name).slice(0, 128),
  loaded: false,
  size_bytes: null,
  vram_bytes: null,
  parameters: null,
  quantization: null,
  type: EMBEDDING.test(name) ? 'embedding' : VISION.test(name) ? 'vision' : 'llm',
  ...known,
  context_length: known.context_length ? Math.round(known.context_length) : null,
})

const printCount = (count: number | null | undefined): string | null =>
  count ? `${Math.round(count / 1e8) / 10}B` : null
