import * as z from 'zod'
import { figure } from '../../../shared/unknown-fields.ts'
import { defineScan } from '../../module.ts'
import { listAddressKeys, listFactAddresses } from '../../net/address-keys.ts'

const Price = z.number().nonnegative().nullable()

const Row = z.strictObject({
  name: z.string().max(64).describe('Runtime, provider, or name in the configuration.'),
  base_url: z.string().max(300),
  host: z.string().max(253),
  address: z.string().max(64).nullable().describe('Address that was contacted; null for none.'),
  port: z.int().min(1).max(65_535),
  scope: z.enum(['self', 'lan', 'public']),
  protocol: z.enum(['openai', 'anthropic', 'ollama', 'other']),
  auth: z
    .enum(['none', 'bearer', 'api_key', 'required'])
    .describe('`none` answers every client; `required` demands credentials of an unknown form.'),
  reachable: figure(z.boolean().nullable(), 'the endpoint was not contacted, see the warnings'),
  latency_ms: z.int().nonnegative().nullable(),
  models: z
    .array(
      z.strictObject({
        id: z.string().max(128),
        context_length: z.int().nonnegative().nullable(),
        input_usd_per_mtok: Price,
        output_usd_per_mtok: Price,
      }),
    )
    .max(512),
  region: z.string().max(32).nullable(),
})

export default defineScan({
  id: 'llm-api-discover',
  name: 'LLM API discovery',
  description:
    'List LLM APIs: of this cell, of networks in scope, and configured endpoints and providers.',
  tags: ['ai_ml', 'llm', 'api'],
  access: 'operator',
  reach: 'lan',
  input: z.strictObject({}),
  examples: [{}],
  deadlineSeconds: 120,
  autoRun: { everySeconds: 3600, isPassive: false },
  row: Row,
  observe: (row, context) => {
    if (row.address === null || row.reachable !== true || row.scope === 'public') return []
    return [
      {
        keys: listAddressKeys(row.address, context),
        facts: {
          ...listFactAddresses(row.address),
          services: [
            {
              port: row.port,
              transport: 'tcp',
              name: row.name,
              product: null,
              version: null,
              is_encrypted: row.base_url.startsWith('https:'),
              is_open: row.auth === 'none',
            },
          ],
          models: row.models.map(({ id }) => id).slice(0, 256),
        },
      },
    ]
  },
})
