import * as z from 'zod'
import { figure } from '../../../shared/unknown-fields.ts'
import { createChoice } from '../../fields/choice.ts'
import { defineLookup } from '../../module.ts'

const Text = z.string().max(256)

const CLOUD_PROVIDERS = ['hetzner', 'digitalocean'] as const

export const CloudResource = z.strictObject({
  id: z.string().max(64),
  kind: z.enum(['server', 'network', 'volume', 'load_balancer', 'floating_ip', 'firewall']),
  name: Text,
  status: z.string().max(64).nullable(),
  region: z.string().max(64).nullable(),
  created_at: z.iso.datetime().nullable(),
  ipv4: z.array(z.string().max(64)).max(16),
  ipv6: z.array(z.string().max(64)).max(16),
  private_ips: z.array(z.string().max(64)).max(16),
  cpu_cores: z.int().nullable(),
  memory_bytes: z.int().nullable(),
  disk_bytes: z.int().nullable(),
  labels: z.record(z.string().max(128), z.string().max(256)),
  monthly_cost_eur: z.number().nullable().describe('Net price of a month at the region.'),
})
export type CloudResource = z.infer<typeof CloudResource>

const NOT_CONFIGURED = 'no key of the provider is configured'

export const CloudInventory = z.strictObject({
  provider: z.enum(CLOUD_PROVIDERS),
  configured: z.boolean().describe('False without a key; nothing was asked then.'),
  region_count: figure(z.int().nullable(), NOT_CONFIGURED),
  resources: z.array(CloudResource).max(2000),
  totals: z.strictObject({
    servers: figure(z.int().nullable(), NOT_CONFIGURED),
    running: figure(z.int().nullable(), NOT_CONFIGURED),
    monthly_cost_eur: figure(z.number().nullable(), 'no resource has a known price'),
  }),
})
export type CloudInventory = z.infer<typeof CloudInventory>

export default defineLookup({
  id: 'cloud-discover',
  name: 'Cloud discovery',
  description: "List servers, networks and volumes of the operator's account at a cloud provider.",
  tags: ['infrastructure', 'cloud', 'servers'],
  access: 'operator',
  reach: 'internet',
  input: z.strictObject({
    provider: createChoice(CLOUD_PROVIDERS)
      .default('hetzner')
      .describe('Provider with a configured key.'),
  }),
  examples: [{ provider: 'hetzner' }],
  deadlineSeconds: 60,
  autoRun: { everySeconds: 3600, isPassive: false },
  data: CloudInventory,
  observe: ({ resources }) =>
    resources
      .filter(({ kind }) => kind === 'server')
      .map(({ id, name, ipv4, ipv6, private_ips, region }) => ({
        keys: [
          { kind: 'cloud_instance_id' as const, value: id },
          ...ipv4.map(value => ({ kind: 'ip' as const, value })),
        ],
        facts: {
          name,
          claimed_types: ['cloud_server'],
          ip_addresses: [...ipv4, ...ipv6, ...private_ips],
          ...(region === null ? {} : { location: region }),
        },
        ttl_seconds: 86_400,
      })),
})
