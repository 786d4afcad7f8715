import { hostname } from 'node:os'
import * as z from 'zod'
import { Catalogue, CatalogueEntry, SHIPPED_CATALOGUE } from '../shared/catalogue.ts'
import { Declarations } from './access/gates/compliance/report.ts'
import { Gates } from './access/gates/definition.ts'
import { Tiers } from './access/quota/tiers.ts'
import { VisitorSettings } from './access/visitors/visitors.ts'
import { ConversationsConfig } from './agents/conversations/conversations-config.ts'
import { FlowsConfig, SynergiesConfig } from './agents/flows/flow.ts'
import { AgentsConfig } from './agents/sessions/config.ts'
import { WebhooksConfig } from './agents/webhooks/webhooks-config.ts'
import { SwarmConfig } from './devices/swarm/config.ts'
import { BrokerConfig, MqttConfig } from './fleet/broker/broker-config.ts'
import { CommandsConfig } from './fleet/control/commands-config.ts'
import { RampUpConfig } from './fleet/rampup/rampup-config.ts'
import { CascadeConfig } from './gateway/cascade/cascade-steps.ts'
import { BackupSettings } from './insight/backup/backup-settings.ts'
import { BusinessConfig } from './insight/business/business-config.ts'
import { ReleaseRecords } from './insight/reports/release.ts'
import {
  ChatServersConfig,
  NoticesConfig,
  ServicesConfig,
} from './insight/services/services-config.ts'
import { LimitsConfig } from './kernel/budgets/limits-config.ts'
import { EventsConfig } from './kernel/events/events-config.ts'
import { Outbound } from './kernel/outbound/outbound-config.ts'
import { StoreSettings } from './kernel/store/store-settings.ts'
import { SiteConfig, UpstreamsConfig } from './kernel/upstreams/upstreams-config.ts'
import { HttpConfig } from './surfaces/http/http-config.ts'

const webUrl = z.url({ protocol: /^https?$/ }).optional()

const Public = z.strictObject({
  base_url: webUrl.describe('Public address of the REST API.'),
  a2a_url: webUrl.describe('Public address of the agent host; public.base_url by default.'),
  mcp_url: webUrl.describe(
    'Public address of the MCP endpoint; /mcp/ of public.base_url by default.',
  ),
  docs_url: webUrl.describe('Public address of the manual; /docs of public.base_url by default.'),
  portal_url: webUrl.describe('Public address of the portal, when there is one.'),
})

const Provider = z.strictObject({
  name: z
    .string()
    .min(1)
    .default('shoal')
    .describe('Organization that runs this service; shown on the agent card.'),
  url: webUrl.describe(
    'Address of that organization; public.portal_url or public.base_url by default.',
  ),
})

const Presence = z.strictObject({
  suspect_after_seconds: z
    .number()
    .positive()
    .default(7.5)
    .describe('Silence after which a cell receives no more requests.'),
  dead_after_seconds: z
    .number()
    .positive()
    .default(12)
    .describe('Silence after which a cell is considered dead.'),
  ping_seconds: z
    .number()
    .positive()
    .default(5)
    .describe('Interval of latency probes to each cell, and their timeout.'),
})

const Routing = z.strictObject({
  queue_length: z
    .int()
    .min(0)
    .max(100_000)
    .default(256)
    .describe(
      'Requests that may wait for one model when no cell has capacity; 0 disables waiting.',
    ),
  queue_max_wait_seconds: z
    .number()
    .positive()
    .max(3600)
    .default(30)
    .describe('Longest wait for capacity on a cell.'),
  queue_restart_seconds: z
    .number()
    .nonnegative()
    .max(3600)
    .default(10)
    .describe('How long requests for a model keep waiting after its last engine has gone.'),
  affinity_prefix_chars: z
    .int()
    .min(0)
    .max(1024 * 1024)
    .default(4096)
    .describe(
      'Prompts of at least this length are routed by their first characters, to reuse cached prefixes; 0 disables this.',
    ),
})

const Replica = z.strictObject({
  name: z
    .string()
    .regex(/^[\w.-]{1,64}$/)
    .optional()
    .describe(
      'Name of this coordinator in lists and in its log; in lists the name of the machine by default.',
    ),
  address: webUrl.describe(
    'Address at which cells reach this coordinator and no other, where several share a store. Without it they redial the address they know until they have met all.',
  ),
})

const Audit = z.strictObject({
  retention_days: z
    .int()
    .min(183)
    .default(400)
    .describe(
      'Minimum retention of audit rows; less than six months is refused. Rows are purged a week later.',
    ),
})

const Usage = z
  .strictObject({
    row_days: z
      .number()
      .min(2)
      .max(3660)
      .default(35)
      .describe('Retention of records of single requests.'),
    bucket_days: z.number().min(2).max(36_600).default(400).describe('Retention of hourly totals.'),
  })
  .refine(({ row_days, bucket_days }) => row_days <= bucket_days, {
    path: ['row_days'],
    error: 'records of single requests cannot be kept longer than the hourly totals',
  })

const A2a = z.strictObject({
  card_default: z
    .enum(['hybrid', 'v1'])
    .default('hybrid')
    .describe('Format of /.well-known/agent-card.json for clients that send no A2A-Version.'),
  task_days: z.number().min(1).max(3660).default(30).describe('Retention of finished tasks.'),
})

const Metrics = z.strictObject({
  loopback_port: z
    .int()
    .min(0)
    .max(65_535)
    .default(0)
    .describe(
      'Port on 127.0.0.1 that serves /metrics without a key; 0 disables it. The main port serves it too, with an operator key.',
    ),
})

const Log = z.strictObject({
  level: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('Lowest level written to standard output, as JSON lines.'),
})

const isChatModel = (catalogue: Catalogue, id: string): boolean =>
  catalogue.some(entry => entry.id === id && entry.kind === 'chat')

/** Everything an operator can set on the coordinator. */
export const CoordinatorConfig = z
  .strictObject({
    name: z.string().default(hostname()).describe('Name of this coordinator in logs and events.'),
    state_dir: z
      .string()
      .meta({ environment: 'SHOAL_COORDINATOR_STATE_DIR', provided: '$STATE_DIRECTORY' })
      .default('.shoal/coordinator')
      .describe('Folder for the databases; created with mode 0700.'),
    store: StoreSettings.prefault({}),
    http: HttpConfig.prefault({}),
    limits: LimitsConfig.prefault({}),
    public: Public.prefault({}),
    provider: Provider.prefault({}),
    presence: Presence.prefault({}),
    routing: Routing.prefault({}),
    replica: Replica.prefault({}),
    broker: BrokerConfig.prefault({}),
    mqtt: MqttConfig.prefault({}),
    metrics: Metrics.prefault({}),
    a2a: A2a.prefault({}),
    log: Log.prefault({}),
    tiers: Tiers.prefault({}),
    keys: VisitorSettings.prefault({}),
    gates: Gates,
    agents: AgentsConfig.prefault({}),
    audit: Audit.prefault({}),
    compliance: Declarations,
    policy_file: z
      .string()
      .optional()
      .describe(
        'Human-approval policy, YAML, until another one is approved; the bundled policy by default. See docs/gates.md.',
      ),
    usage: Usage.prefault({}),
    backup: BackupSettings.prefault({}),
    release: ReleaseRecords,
    events: EventsConfig.prefault({}),
    outbound: Outbound.prefault({}),
    webhooks: WebhooksConfig.prefault({}),
    conversations: ConversationsConfig.prefault({}),
    commands: CommandsConfig.prefault({}),
    swarm: SwarmConfig.prefault({}),
    business: BusinessConfig.prefault({}),
    site: SiteConfig.prefault({}),
    upstreams: UpstreamsConfig.prefault({}),
    cascade: CascadeConfig.prefault({}),
    rampup: RampUpConfig.prefault({}),
    services: ServicesConfig.prefault({}),
    notices: NoticesConfig.prefault({}),
    chat_servers: ChatServersConfig.describe('Matrix homeservers by tenant; see docs/flows.md.'),
    flows: FlowsConfig.describe('Sequences of skills by id; see docs/flows.md.'),
    synergies: SynergiesConfig.describe('Flows that work together, by id; see docs/flows.md.'),
    catalogue: Catalogue.default(
      SHIPPED_CATALOGUE.map(entry => CatalogueEntry.parse(entry)),
    ).describe('Models that clients may name; see docs/cells.md.'),
  })
  .refine(({ http }) => (http.tls_cert_file === undefined) === (http.tls_key_file === undefined), {
    path: ['http', 'tls_cert_file'],
    error: 'http.tls_cert_file and http.tls_key_file must be set together',
  })
  .refine(({ cascade, catalogue }) => cascade.order.every(id => isChatModel(catalogue, id)), {
    path: ['cascade', 'order'],
    error: 'every id of cascade.order must be a chat model of the catalogue',
  })
export type CoordinatorConfig = z.output<typeof CoordinatorConfig>
