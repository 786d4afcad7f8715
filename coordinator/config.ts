import { hostname } from 'node:os'
import * as z from 'zod'
import { Catalogue, CatalogueEntry, SHIPPED_CATALOGUE } from '../shared/catalogue.ts'
import { Declarations } from './access/gates/compliance/report.ts'
import { Gates } from './access/gates/definition.ts'
import { Tiers } from './access/quota/tiers.ts'
import { UsageConfig } from './access/quota/usage-config.ts'
import { VisitorSettings } from './access/visitors/visitors.ts'
import { ConversationsConfig } from './agents/conversations/conversations-config.ts'
import { FlowsConfig, SynergiesConfig } from './agents/flows/flow.ts'
import { AgentsConfig } from './agents/sessions/config.ts'
import { WebhooksConfig } from './agents/webhooks/webhooks-config.ts'
import { SwarmConfig } from './devices/swarm/config.ts'
import { BrokerConfig, MqttConfig } from './fleet/broker/broker-config.ts'
import { PresenceConfig } from './fleet/cells/presence-config.ts'
import { CommandsConfig } from './fleet/control/commands-config.ts'
import { RampUpConfig } from './fleet/rampup/rampup-config.ts'
import { CascadeConfig } from './gateway/cascade/cascade-steps.ts'
import { RoutingConfig } from './gateway/dispatch/routing-config.ts'
import { BackupSettings } from './insight/backup/backup-settings.ts'
import { BusinessConfig } from './insight/business/business-config.ts'
import { ReleaseRecords } from './insight/reports/release.ts'
import {
  ChatServersConfig,
  NoticesConfig,
  ServicesConfig,
} from './insight/services/services-config.ts'
import { AuditConfig } from './kernel/audit/audit-config.ts'
import { LogConfig } from './kernel/base/log-config.ts'
import { LimitsConfig } from './kernel/budgets/limits-config.ts'
import { EventsConfig } from './kernel/events/events-config.ts'
import { Outbound } from './kernel/outbound/outbound-config.ts'
import { ReplicaConfig } from './kernel/replicas/replica-config.ts'
import { StoreSettings } from './kernel/store/store-settings.ts'
import { SiteConfig, UpstreamsConfig } from './kernel/upstreams/upstreams-config.ts'
import { A2aConfig } from './surfaces/a2a/a2a-config.ts'
import { HttpConfig } from './surfaces/http/http-config.ts'
import { ProviderConfig, PublicConfig } from './surfaces/http/public-config.ts'
import { MetricsConfig } from './surfaces/metrics/metrics-config.ts'

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
    public: PublicConfig.prefault({}),
    provider: ProviderConfig.prefault({}),
    presence: PresenceConfig.prefault({}),
    routing: RoutingConfig.prefault({}),
    replica: ReplicaConfig.prefault({}),
    broker: BrokerConfig.prefault({}),
    mqtt: MqttConfig.prefault({}),
    metrics: MetricsConfig.prefault({}),
    a2a: A2aConfig.prefault({}),
    log: LogConfig.prefault({}),
    tiers: Tiers.prefault({}),
    keys: VisitorSettings.prefault({}),
    gates: Gates,
    agents: AgentsConfig.prefault({}),
    audit: AuditConfig.prefault({}),
    compliance: Declarations,
    policy_file: z
      .string()
      .optional()
      .describe(
        'Human-approval policy, YAML, until another one is approved; the bundled policy by default. See docs/gates.md.',
      ),
    usage: UsageConfig.prefault({}),
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
