import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'

/** Answer of a stand-in: JSON, a text, or a status with one of them. */
type Route = object | string | [status: number, body: object | string]

/** A stand-in that answers as an LLM runtime does by its documentation. */
export interface StandIn {
  kind: string
  port: number
  routes: Readonly<Record<string, Route>>
  /** Models that a scan has to find. */
  models: readonly string[]
  isOpen: boolean | null
}

const openAi = (owned_by: string, id: string, more: object = {}): object => ({
  object: 'list',
  data: [{ id, object: 'model', created: 1_760_000_000, owned_by, ...more }],
})

export const LLM_STAND_INS: readonly StandIn[] = [
  {
    kind: 'ollama',
    port: 11_434,
    routes: {
      '/': 'Ollama is running',
      '/api/version': { version: '0.9.1' },
      '/api/tags': {
        models: [
          {
            name: 'qwen3:8b',
            size: 5e9,
            details: { parameter_size: '8.2B', quantization_level: 'Q4_K_M' },
          },
          { name: 'nomic-embed-text:latest', size: 2.7e8, details: null },
        ],
      },
      '/api/ps': {
        models: [{ name: 'qwen3:8b', size: 6e9, size_vram: 6e9, context_length: 8192 }],
      },
      '/v1/models': openAi('library', 'qwen3:8b'),
    },
    models: ['qwen3:8b', 'nomic-embed-text:latest'],
    isOpen: true,
  },
  {
    kind: 'lm-studio',
    port: 1234,
    routes: {
      '/api/v1/models': {
        models: [
          {
            key: 'gemma-3-12b',
            type: 'llm',
            size_bytes: 8e9,
            params_string: '12B',
            quantization: { name: 'Q4_K_M', bits_per_weight: 4 },
            loaded_instances: [{ id: 'a', config: { context_length: 4096 } }],
            max_context_length: 131_072,
          },
        ],
      },
      '/v1/models': openAi('organization_owner', 'gemma-3-12b'),
    },
    models: ['gemma-3-12b'],
    isOpen: true,
  },
  {
    kind: 'llama-cpp',
    port: 8080,
    routes: {
      '/props': { default_generation_settings: {}, total_slots: 4, build_info: 'b6000-abcdef' },
      '/v1/models': openAi('llamacpp', '/models/phi-4-Q5.gguf', {
        meta: { size: 9e9, n_params: 14.7e9, n_ctx_train: 16_384 },
      }),
      '/metrics':
        '# HELP x\nllamacpp:requests_processing 2\nllamacpp:requests_deferred 1\nllamacpp:predicted_tokens_seconds 41.5\n',
    },
    models: ['phi-4-Q5.gguf'],
    isOpen: true,
  },
  {
    kind: 'vllm',
    port: 8000,
    routes: {
      '/version': { version: '0.11.0' },
      '/v1/models': openAi('vllm', 'Qwen/Qwen3-32B', { max_model_len: 32_768 }),
      '/metrics':
        'vllm:num_requests_running{model_name="a"} 3.0\nvllm:num_requests_waiting{model_name="a"} 0.0\nvllm:kv_cache_usage_perc{model_name="a"} 0.125\n',
    },
    models: ['Qwen/Qwen3-32B'],
    isOpen: true,
  },
  {
    kind: 'sglang',
    port: 30_000,
    routes: { '/v1/models': openAi('sglang', 'meta/llama', { max_model_len: 8192 }) },
    models: ['meta/llama'],
    isOpen: true,
  },
  {
    kind: 'tgi',
    port: 3000,
    routes: {
      '/info': {
        router: 'text-generation-router',
        version: '3.3.4',
        model_id: 'HuggingFaceH4/zephyr-7b-beta',
        max_total_tokens: 4096,
      },
    },
    models: ['HuggingFaceH4/zephyr-7b-beta'],
    isOpen: true,
  },
  {
    kind: 'localai',
    port: 8080,
    routes: {
      '/.well-known/localai.json': { version: 'v3.5.0', endpoints: {} },
      '/version': { version: 'v3.5.0' },
      '/v1/models': openAi('', 'gpt-oss-20b'),
    },
    models: ['gpt-oss-20b'],
    isOpen: true,
  },
  {
    kind: 'triton',
    port: 8000,
    routes: {
      '/v2': { name: 'triton', version: '2.60.0', extensions: ['model_repository'] },
      'POST /v2/repository/index': [{ name: 'resnet', version: '1', state: 'READY' }] as object,
    },
    models: ['resnet'],
    isOpen: true,
  },
  {
    kind: 'koboldcpp',
    port: 5001,
    routes: {
      '/api/extra/version': { result: 'KoboldCpp', version: '1.97', protected: false },
      '/api/v1/model': { result: 'koboldcpp/mistral-7b' },
      '/v1/models': openAi('koboldcpp', 'koboldcpp/mistral-7b'),
    },
    models: ['koboldcpp/mistral-7b'],
    isOpen: true,
  },
  {
    kind: 'text-generation-webui',
    port: 5000,
    routes: {
      '/v1/internal/health': { status: 'ok' },
      '/v1/internal/model/info': { model_name: 'llama-2-7b', lora_names: [] },
      '/v1/models': openAi('user', 'llama-2-7b'),
    },
    models: ['llama-2-7b'],
    isOpen: true,
  },
  {
    kind: 'gpustack',
    port: 443,
    routes: {
      '/version': { version: '0.7.1', git_commit: 'a1b2c3d' },
      '/v1/models': [401, { error: { message: 'Invalid API key' } }],
    },
    models: [],
    isOpen: false,
  },
  {
    kind: 'xinference',
    port: 9997,
    routes: { '/v1/address': '"10.0.0.9:12345"', '/v1/models': openAi('xinference', 'glm-4') },
    models: ['glm-4'],
    isOpen: true,
  },
  {
    kind: 'litellm',
    port: 4000,
    routes: {
      '/health/liveliness': '"I\'m alive!"',
      '/v1/models': [401, { error: { message: 'No api key passed in' } }],
    },
    models: [],
    isOpen: false,
  },
  {
    kind: 'docker-model-runner',
    port: 12_434,
    routes: { '/engines/v1/models': openAi('docker', 'ai/smollm2') },
    models: ['ai/smollm2'],
    isOpen: true,
  },
  {
    kind: 'lmdeploy',
    port: 23_333,
    routes: { '/v1/models': openAi('lmdeploy', 'internlm3') },
    models: ['internlm3'],
    isOpen: true,
  },
  {
    kind: 'lemonade',
    port: 8000,
    routes: {
      '/api/v1/health': { status: 'ok' },
      '/api/v1/models': openAi('lemonade', 'qwen-npu'),
    },
    models: ['qwen-npu'],
    isOpen: true,
  },
  {
    kind: 'exo',
    port: 52_415,
    routes: { '/v1/models': openAi('exo', 'llama-3.3-70b') },
    models: ['llama-3.3-70b'],
    isOpen: true,
  },
  {
    kind: 'jan',
    port: 1337,
    routes: { '/v1/models': openAi('jan', 'jan-nano') },
    models: ['jan-nano'],
    isOpen: true,
  },
  {
    kind: 'openai-compatible',
    port: 8080,
    routes: { '/': 'hello', '/v1/models': [401, { detail: 'Not authenticated' }] },
    models: [],
    isOpen: false,
  },
]

/** Web servers that are no LLM runtime, though they look a little like one. */
export const LLM_DECOYS: readonly Pick<StandIn, 'port' | 'routes'>[] = [
  // a single-page application answers every path with its page
  { port: 3000, routes: { '*': '<!doctype html><title>App</title>' } },
  // a router that asks for a password everywhere
  { port: 8080, routes: { '*': [401, { error: 'login' }] } },
  // a JSON API with a version
  { port: 8000, routes: { '/version': { version: '1.2.3' }, '/health': { status: 'ok' } } },
]

/** A request as a stand-in got it. */
export interface SeenRequest {
  method: string
  path: string
  hasCredentials: boolean
  body: string
}

/** Starts a stand-in; every request is noted. */
export const startStandIn = async (
  { port, routes }: Pick<StandIn, 'port' | 'routes'>,
  address: string,
  onRequest: (request: SeenRequest) => void = () => {},
): Promise<Server> => {
  const server = createServer(async (request, response) => {
    const { method = '', url: path = '' } = request
    const hasCredentials = 'authorization' in request.headers || 'x-api-key' in request.headers
    onRequest({ method, path, hasCredentials, body: await readText(request) })
    const [status, body] = statusOf(
      routes[method === 'GET' ? path : `${method} ${path}`] ??
        routes['*'] ?? [404, { error: 'no' }],
    )
    const isText = typeof body === 'string'
    response.writeHead(status, { 'content-type': isText ? 'text/plain' : 'application/json' })
    response.end(isText ? body : JSON.stringify(body))
  })
  server.listen(port, address)
  await once(server, 'listening')
  return server
}

const statusOf = (route: Route): [number, object | string] =>
  Array.isArray(route) && typeof route[0] === 'number' ? [route[0], route[1]] : [200, route]

const readText = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}
