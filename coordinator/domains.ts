import { openGates } from './access/gates/open.ts'
import { openKeys } from './access/keys/open.ts'
import { openPeople } from './access/people/open.ts'
import { openQuota } from './access/quota/open.ts'
import { openVisitors } from './access/visitors/open.ts'
import { openFlows } from './agents/flows/open.ts'
import { openAgents } from './agents/sessions/open.ts'
import { openWebhooks } from './agents/webhooks/open.ts'
import { openIdempotency, openMarks } from './calls/idempotency/open.ts'
import { openCallHours } from './calls/invoke/open-call-hours.ts'
import { openEstop } from './devices/estop/open.ts'
import { openDevices } from './devices/inventory/open.ts'
import { openSwarm } from './devices/swarm/open.ts'
import { openDiscovery } from './discovery/entities/open.ts'
import { openEntities } from './discovery/entities/open-entities.ts'
import { openMonitor } from './fleet/alerts/open-monitor.ts'
import { openBroker } from './fleet/broker/open.ts'
import { openInbox } from './fleet/broker/open-inbox.ts'
import { openFleet } from './fleet/cells/open.ts'
import { openPresence } from './fleet/cells/open-presence.ts'
import { openReferences } from './fleet/cells/open-references.ts'
import { openReplicaStates } from './fleet/cells/replica-states.ts'
import { openControl } from './fleet/control/open.ts'
import { openEnrolment } from './fleet/enrolment/open.ts'
import { openIdentity } from './fleet/enrolment/open-identity.ts'
import { openModels } from './fleet/models/open.ts'
import { openModelWatch } from './fleet/models/open-model-watch.ts'
import { openRampUps } from './fleet/rampup/open.ts'
import { openDispatch } from './gateway/dispatch/open.ts'
import { openAnswerMemory } from './gateway/dispatch/open-answer-memory.ts'
import { openResponses } from './gateway/responses/open.ts'
import { openBackup } from './insight/backup/open.ts'
import { openBusiness } from './insight/business/open.ts'
import { openKnowledge } from './insight/knowledge/open.ts'
import { openPlanning } from './insight/planning/open.ts'
import { openRegisters } from './insight/registers/open.ts'
import { openReports } from './insight/reports/open.ts'
import { openServices } from './insight/services/open.ts'
import { openAudit } from './kernel/audit/open.ts'
import { openBudgets } from './kernel/budgets/open.ts'
import { openEvents } from './kernel/events/open.ts'
import { openLeader } from './kernel/leader/open.ts'
import { openMigrations } from './kernel/leader/open-migrations.ts'
import { openOutbound } from './kernel/outbound/open.ts'
import { openQueue } from './kernel/queue/open.ts'
import { openReplicas } from './kernel/replicas/open.ts'
import { openRecurring } from './kernel/schedules/open.ts'
import { openKeyCheck, openSecretsPart } from './kernel/secrets/open.ts'
import { openSigningKeys } from './kernel/signing/open.ts'
import { openStorePart } from './kernel/store/open.ts'
import { openTls } from './kernel/tls/open.ts'
import { openUpstreams } from './kernel/upstreams/open.ts'
import { openServer } from './surfaces/http/open.ts'
import { openMetrics } from './surfaces/metrics/open.ts'
import { openVitals } from './surfaces/metrics/open-vitals.ts'

/**
 * The parts of the coordinator that know nothing of operations, in the order in which they open;
 * they close in reverse. A new domain is one line here.
 */
export const domains = [
  openMetrics,
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
  openEntities,
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
  openDispatch,
  openReplicaStates,
  openEnrolment,
  openReferences,
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
