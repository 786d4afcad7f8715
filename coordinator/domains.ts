import { openAgents } from './agents/open.ts'
import { openAudit } from './audit/open.ts'
import { openBackup } from './backup/open.ts'
import type { ViewsOf } from './base/open-all.ts'
import { openBroker } from './broker/open.ts'
import { openInbox } from './broker/open-inbox.ts'
import { openBudgets } from './budgets/open.ts'
import { openBusiness } from './business/open.ts'
import { openModels } from './catalogue/open.ts'
import { openModelWatch } from './catalogue/open-model-watch.ts'
import { openControl } from './control/open.ts'
import { openDevices } from './devices/open.ts'
import { openDiscovery } from './discovery/open.ts'
import { openRegistry } from './discovery/open-registry.ts'
import { openEnrolment } from './enrolment/open.ts'
import { openIdentity } from './enrolment/open-identity.ts'
import { openEstop } from './estop/open.ts'
import { openEvents } from './events/open.ts'
import { openFleet } from './fleet/open.ts'
import { openAnswerMemory } from './fleet/open-answer-memory.ts'
import { openMonitor } from './fleet/open-monitor.ts'
import { openPresence } from './fleet/open-presence.ts'
import { openReplicaStates } from './fleet/replica-states.ts'
import { openFlows } from './flows/open.ts'
import { openGates } from './gates/open.ts'
import { openServer } from './http/open.ts'
import { openIdempotency, openMarks } from './idempotency/open.ts'
import { openKeys } from './keys/open.ts'
import { openKnowledge } from './knowledge/open.ts'
import { openLeader } from './leader/open.ts'
import { openMigrations } from './leader/open-migrations.ts'
import { openFigures } from './metrics/open.ts'
import { openCallHours } from './metrics/open-call-hours.ts'
import { openVitals } from './metrics/open-vitals.ts'
import { openOutbound } from './outbound/open.ts'
import { openPeople } from './people/open.ts'
import { openPlanning } from './planning/open.ts'
import { openQueue } from './queue/open.ts'
import { openQuota } from './quota/open.ts'
import { openRampUps } from './rampup/open.ts'
import { openRegisters } from './registers/open.ts'
import { openReplicas } from './replicas/open.ts'
import { openReports } from './reports/open.ts'
import { openResponses } from './responses/open.ts'
import { openRecurring } from './schedules/open.ts'
import { openKeyCheck, openSecretsPart } from './secrets/open.ts'
import { openServices } from './services/open.ts'
import { openSigningKeys } from './signing/open.ts'
import { openStorePart } from './store/open.ts'
import { openSwarm } from './swarm/open.ts'
import { openTls } from './tls/open.ts'
import { openUpstreams } from './upstreams/open.ts'
import { openVisitors } from './visitors/open.ts'
import { openWebhooks } from './webhooks/open.ts'

/**
 * The parts of the coordinator that know nothing of operations, in the order in which they open;
 * they close in reverse. A new domain is one line here.
 */
export const domains = [
  openFigures,
  openBudgets,
  openMarks,
  openStorePart,
  openKeyCheck,
  openReplicas,
  openLeader,
  openMigrations,
  openSecretsPart,
  openTls,
  openSigningKeys,
  openEvents,
  openRegistry,
  openAudit,
  openPeople,
  openKeys,
  openVisitors,
  openRegisters,
  openIdempotency,
  openResponses,
  openGates,
  openQuota,
  openCallHours,
  openAgents,
  openQueue,
  openFlows,
  openRecurring,
  openOutbound,
  openUpstreams,
  openPlanning,
  openWebhooks,
  openServer,
  openServices,
  openAnswerMemory,
  openModels,
  openFleet,
  openReplicaStates,
  openEnrolment,
  openMonitor,
  openModelWatch,
  openBroker,
  openIdentity,
  openDevices,
  openEstop,
  openControl,
  openRampUps,
  openSwarm,
  openDiscovery,
  openBusiness,
  openInbox,
  openPresence,
  openVitals,
  openKnowledge,
  openBackup,
  openReports,
] as const

/** The part of the domains that operations see. */
export type DomainViews = ViewsOf<typeof domains>
