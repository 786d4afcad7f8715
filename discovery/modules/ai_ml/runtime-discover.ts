import * as z from 'zod'
import { defineScan } from '../../module.ts'
import { listAddressKeys, listFactAddresses } from '../../net/address-keys.ts'

const Model = z.strictObject({
  id: z.string().max(128),
  loaded: z.boolean(),
  size_bytes: z.number().nonnegative().nullable(),
  vram_bytes: z.number().nonnegative().nullable(),
  parameters: z.string().max(32).nullable().describe('Number of parameters: `7.6B`.'),
  quantization: z.string().max(32).nullable(),
  context_length: z.int().nonnegative().nullable(),
  type: z.enum(['llm', 'embedding', 'vision', 'other']),
})

const Row = z.strictObject({
  url: z.string().max(300),
  host: z.string().max(64).describe('Address of the server.'),
  port: z.int().min(1).max(65_535),
  kind: z
    .string()
    .max(32)
    .describe('`ollama`, `vllm`, `llama-cpp`, `openai-compatible` and others.'),
  version: z.string().max(64).nullable(),
  state: z.enum(['ready', 'loading', 'degraded', 'auth_required']),
  is_open: z.boolean().nullable().describe('It answers without credentials; null when unknown.'),
  confidence_percent: z.int().min(0).max(100),
  evidence: z.array(z.string().max(128)).max(8),
  tls: z.boolean(),
  models: z.array(Model).max(256),
  load: z.strictObject({
    running: z.number().nonnegative().nullable(),
    queued: z.number().nonnegative().nullable(),
    kv_cache_percent: z.number().min(0).max(100).nullable(),
    tokens_per_s: z.number().nonnegative().nullable(),
  }),
})

export default defineScan({
  id: 'runtime-discover',
  name: 'Runtime discovery',
  description:
    'Find LLM runtimes, their models and load in a network of the scope; sends no prompts.',
  tags: ['ai_ml', 'llm', 'inference', 'lan'],
  access: 'operator',
  reach: 'lan',
  input: z.strictObject({
    subnet: z
      .string()
      .max(64)
      .regex(/^[0-9A-Fa-f.:]{2,45}(\/[0-9]{1,3})?$/)
      .exactOptional()
      .describe('Network or address; without it, loopback and the networks of the scope.'),
  }),
  examples: [{}, { subnet: '192.168.1.0/24' }],
  deadlineSeconds: 120,
  autoRun: { everySeconds: 900, isPassive: false },
  row: Row,
  observe: (row, context) => [
    {
      keys: listAddressKeys(row.host, context),
      facts: {
        ...listFactAddresses(row.host),
        services: [
          {
            port: row.port,
            transport: 'tcp',
            name: row.kind,
            product: row.kind,
            version: row.version,
            is_encrypted: row.tls,
            is_open: row.is_open,
          },
        ],
        models: row.models.map(({ id }) => id),
      },
    },
  ],
})
