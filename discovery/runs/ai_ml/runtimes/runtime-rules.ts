import * as z from 'zod'
import type { LOAD_METRICS } from './read-load.ts'
import {
  describeModel,
  OpenAiList,
  type ReadModels,
  readOlderStudioModels,
  readOllamaModels,
  readOpenAiModels,
  readStudioModels,
} from './read-models.ts'
import type { RuntimePort } from './runtime-port.ts'

/** How a runtime is recognised: by an answer that only it gives. */
export interface RuntimeRule {
  kind: string
  /** Ports by its documentation; its rule is tried first there. */
  ports: readonly number[]
  /** Request whose answer is the evidence. */
  path: string
  /** JSON of an answer 200, and its text. */
  isAnswer(json: unknown, text: string, port: number): boolean
  confidencePercent: number
  version?: { path: string; field: string }
  models?: ReadModels
  metrics?: keyof typeof LOAD_METRICS
  /** Path that needs credentials where the list of models does not. */
  guardedPath?: string
}

const has = (json: unknown, ...names: string[]): boolean =>
  typeof json === 'object' && json !== null && names.every(name => name in json)

const textOf = (json: unknown, name: string): string => {
  const value = has(json, name) ? (json as Record<string, unknown>)[name] : undefined
  return typeof value === 'string' ? value : ''
}

const isOwnedBy =
  (...owners: string[]) =>
  (json: unknown): boolean =>
    OpenAiList.safeParse(json).data?.data.some(({ owned_by }) => owners.includes(owned_by ?? '')) ??
    false

const isList = (json: unknown): boolean => OpenAiList.safeParse(json).data?.object === 'list'

const readTgiModels: ReadModels = async endpoint => {
  const info = await endpoint.read('/info')
  const context = (info as { max_total_tokens?: unknown }).max_total_tokens
  const context_length = typeof context === 'number' ? context : null
  return [describeModel(textOf(info, 'model_id'), { loaded: true, context_length })]
}

/** A listing, and the only request that is not a GET (Triton model repository extension). */
const readTritonModels: ReadModels = async endpoint => {
  const Index = z.array(z.object({ name: z.string(), state: z.string().optional() }))
  const reply = await endpoint.post('/v2/repository/index', {})
  const models = Index.safeParse(reply?.json).data
  return models?.map(({ name, state }) =>
    describeModel(name, { loaded: state === 'READY', type: 'other' }),
  )
}

const readKoboldModels: ReadModels = async endpoint => {
  const name = textOf(await endpoint.read('/api/v1/model'), 'result')
  return name === '' || name === 'inactive' ? [] : [describeModel(name, { loaded: true })]
}

/**
 * Rules in the order in which they are tried, after those of the port: what only one runtime
 * answers comes first.
 */
export const RUNTIME_RULES: readonly RuntimeRule[] = [
  {
    kind: 'ollama',
    ports: [11_434],
    path: '/',
    isAnswer: (_, text) => text.startsWith('Ollama is running'),
    confidencePercent: 99,
    version: { path: '/api/version', field: 'version' },
    models: readOllamaModels,
  },
  {
    kind: 'lm-studio',
    ports: [1234],
    path: '/api/v1/models',
    isAnswer: json =>
      z
        .object({ models: z.array(z.object({ loaded_instances: z.array(z.unknown()) })) })
        .safeParse(json).success,
    confidencePercent: 95,
    models: readStudioModels,
  },
  {
    kind: 'lm-studio',
    ports: [1234],
    path: '/api/v0/models',
    isAnswer: json =>
      z
        .object({ data: z.array(z.object({ state: z.string(), compatibility_type: z.string() })) })
        .safeParse(json).success,
    confidencePercent: 95,
    models: readOlderStudioModels,
  },
  {
    kind: 'llama-cpp',
    ports: [8080],
    path: '/props',
    isAnswer: json => has(json, 'default_generation_settings', 'total_slots'),
    confidencePercent: 97,
    version: { path: '/props', field: 'build_info' },
    models: readOpenAiModels(),
    metrics: 'llama-cpp',
  },
  {
    kind: 'tgi',
    ports: [80, 3000, 8080],
    path: '/info',
    isAnswer: json => textOf(json, 'router').startsWith('text-generation-router'),
    confidencePercent: 97,
    version: { path: '/info', field: 'version' },
    models: readTgiModels,
    metrics: 'tgi',
  },
  {
    kind: 'localai',
    ports: [8080],
    path: '/.well-known/localai.json',
    isAnswer: json => typeof json === 'object' && json !== null && !Array.isArray(json),
    confidencePercent: 95,
    version: { path: '/version', field: 'version' },
    models: readOpenAiModels(),
  },
  {
    kind: 'triton',
    ports: [8000],
    path: '/v2',
    isAnswer: json => textOf(json, 'name') === 'triton' && has(json, 'extensions'),
    confidencePercent: 97,
    version: { path: '/v2', field: 'version' },
    models: readTritonModels,
  },
  {
    kind: 'koboldcpp',
    ports: [5001],
    path: '/api/extra/version',
    isAnswer: json => textOf(json, 'result') === 'KoboldCpp',
    confidencePercent: 97,
    version: { path: '/api/extra/version', field: 'version' },
    models: readKoboldModels,
  },
  {
    kind: 'text-generation-webui',
    ports: [5000],
    path: '/v1/internal/model/info',
    isAnswer: json => has(json, 'model_name'),
    confidencePercent: 92,
    models: readOpenAiModels(),
  },
  {
    kind: 'gpustack',
    ports: [80, 443],
    path: '/version',
    isAnswer: json => has(json, 'version', 'git_commit'),
    confidencePercent: 75,
    version: { path: '/version', field: 'version' },
    models: readOpenAiModels(),
  },
  {
    kind: 'xinference',
    ports: [9997],
    path: '/v1/address',
    isAnswer: json => typeof json === 'string' && /:\d+$/.test(json),
    confidencePercent: 85,
    models: readOpenAiModels(),
  },
  {
    kind: 'litellm',
    ports: [4000],
    path: '/health/liveliness',
    isAnswer: (_, text) => /i'm alive/i.test(text),
    confidencePercent: 80,
    models: readOpenAiModels(),
  },
  {
    kind: 'shoal',
    ports: [7070],
    path: '/.well-known/agent.json',
    isAnswer: (_, text) => text.includes('"shoal-swarm/'),
    confidencePercent: 99,
    version: { path: '/.well-known/agent.json', field: 'version' },
    models: readOpenAiModels(),
  },
  {
    kind: 'docker-model-runner',
    ports: [12_434],
    path: '/engines/v1/models',
    isAnswer: isOwnedBy('docker'),
    confidencePercent: 92,
    models: readOpenAiModels('/engines/v1/models'),
  },
  {
    kind: 'vllm',
    ports: [8000],
    path: '/v1/models',
    isAnswer: isOwnedBy('vllm'),
    confidencePercent: 95,
    version: { path: '/version', field: 'version' },
    models: readOpenAiModels(),
    metrics: 'vllm',
  },
  {
    kind: 'sglang',
    ports: [30_000],
    path: '/v1/models',
    isAnswer: isOwnedBy('sglang'),
    confidencePercent: 95,
    version: { path: '/get_server_info', field: 'version' },
    models: readOpenAiModels(),
    metrics: 'sglang',
  },
  {
    kind: 'lmdeploy',
    ports: [23_333],
    path: '/v1/models',
    isAnswer: isOwnedBy('lmdeploy'),
    confidencePercent: 92,
    models: readOpenAiModels(),
  },
  {
    kind: 'lemonade',
    ports: [8000],
    path: '/api/v1/models',
    isAnswer: isOwnedBy('lemonade'),
    confidencePercent: 90,
    models: readOpenAiModels('/api/v1/models'),
  },
  {
    kind: 'llama-cpp',
    ports: [8080],
    path: '/v1/models',
    isAnswer: isOwnedBy('llamacpp'),
    guardedPath: '/props',
    confidencePercent: 85,
    models: readOpenAiModels(),
    metrics: 'llama-cpp',
  },
  // these two are known by their port alone, which is weak
  {
    kind: 'exo',
    ports: [52_415],
    path: '/v1/models',
    isAnswer: (json, _, port) => port === 52_415 && isList(json),
    confidencePercent: 60,
    models: readOpenAiModels(),
  },
  {
    kind: 'jan',
    ports: [1337],
    path: '/v1/models',
    isAnswer: (json, _, port) => port === 1337 && isList(json),
    confidencePercent: 55,
    models: readOpenAiModels(),
  },
  {
    kind: 'openai-compatible',
    ports: [],
    path: '/v1/models',
    isAnswer: isList,
    confidencePercent: 50,
    models: readOpenAiModels(),
  },
]

/** Version of a runtime; null where it does not say. */
export const readVersion = async (
  endpoint: RuntimePort,
  { version }: Pick<RuntimeRule, 'version'>,
): Promise<string | null> => {
  if (version === undefined) return null
  return textOf(await endpoint.read(version.path), version.field).slice(0, 64) || null
}
