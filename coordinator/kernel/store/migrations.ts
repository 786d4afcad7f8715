import type { Kysely } from 'kysely'
import { agentTables, agentTaskState } from './agent-migrations.ts'
import { auditCheckpoints, auditTable } from './audit-migrations.ts'
import {
  cellIdentity,
  cellOwner,
  cellSettingsTable,
  cellsOverReplicas,
  cellTables,
  commandHolder,
  commandOutcome,
  commandTables,
  configTable,
  joinTokenTenant,
  pastCredentialTable,
  replicaDetails,
} from './cell-migrations.ts'
import { conversationTables, conversationWorkers } from './conversation-migrations.ts'
import { callCreations, idempotencyTable, jobTable, webhookTable } from './delivery-migrations.ts'
import { commandDevices, deviceTables } from './device-migrations.ts'
import type { EngineSchema } from './engine.ts'
import {
  entityDeltas,
  entityFirstSeen,
  entityHolders,
  entityKeyAlarms,
  entityPages,
  entityPseudonyms,
  entityReads,
  entityRunParts,
  entityScanners,
  entityTables,
} from './entity-migrations.ts'
import { estopReportTable, estopTable } from './estop-migrations.ts'
import {
  alertTable,
  cellPresenceTables,
  eventTables,
  slowWebhooks,
  webhookStart,
} from './event-migrations.ts'
import { flowRunIndexes, flowTables, rampUpHealth, rampUpTable } from './flow-migrations.ts'
import { gateRequestsBySubject, gateTables, policyTable } from './gate-migrations.ts'
import {
  disablePeople,
  keyClaims,
  keyTables,
  ledgerTables,
  strictKeys,
  visitorRequests,
} from './key-migrations.ts'
import { graphLayerTables, graphLearningTables } from './knowledge-migrations.ts'
import { modelTable } from './model-migrations.ts'
import {
  logMinutes,
  minuteTables,
  quotaTable,
  recallTable,
  usageAnchorTable,
} from './quota-migrations.ts'
import { registerTable } from './register-migrations.ts'
import { storeResponses } from './response-migrations.ts'
import { scheduleTable } from './schedule-migrations.ts'
import {
  leaseTable,
  replicaKeyTable,
  replicaTable,
  secretTable,
  sequenceTable,
} from './shared-migrations.ts'
import type { StoreMigration } from './store-migration.ts'
import { formationPartTable, formationTable } from './swarm-migrations.ts'
import { hookKeys, taskCancels, taskMail, taskTables, taskWorkers } from './task-migrations.ts'

const probeTable = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('probe')
    .addColumn('id', 'integer', column => column.primaryKey().notNull())
    .addColumn('at', 'bigint', column => column.notNull())
    .execute()
}

/**
 * Migrations of the ledger by name, in order; the engine gives the pieces that it spells in its own
 * way. One that was released is never changed; a new one is added.
 */
export const ledgerMigrations = (engine: EngineSchema): Record<string, StoreMigration> => ({
  '0001_tenants_and_persons': { up: ledgerTables },
  '0002_keys': { up: keyTables },
  '0003_cells': { up: cellTables },
  '0004_quotas': { up: quotaTable },
  '0005_audit': { up: db => auditTable(db, engine) },
  '0006_cell_identity': { up: cellIdentity },
  '0007_cell_settings': { up: cellSettingsTable },
  '0008_commands': { up: commandTables },
  '0009_configs': { up: configTable },
  '0010_probe': { up: probeTable },
  '0011_past_credentials': { up: pastCredentialTable },
  '0012_cell_owner': { up: cellOwner },
  '0013_gates': { up: gateTables },
  '0014_policies': { up: db => policyTable(db, engine) },
  '0014_disabled_people': { up: disablePeople },
  '0015_audit_checkpoints': { up: db => auditCheckpoints(db, engine) },
  '0015_key_claims': { up: keyClaims },
  '0020_jobs': { up: jobTable },
  '0021_webhooks': { up: webhookTable },
  '0022_idempotent_calls': { up: idempotencyTable },
  '0030_a2a_tasks': { up: taskTables },
  '0031_task_workers': { up: taskWorkers },
  '0032_task_cancels': { up: taskCancels },
  '0033_hook_keys': { up: hookKeys },
  '0040_agents': { up: agentTables },
  '0041_agent_task_state': { up: agentTaskState },
  '0050_conversations': { up: conversationTables },
  '0051_conversation_workers': { up: conversationWorkers },
  '0060_leases': { up: leaseTable },
  '0061_schedules': { up: scheduleTable },
  '0062_sequences': { up: sequenceTable },
  '0063_gate_requests_by_subject': { up: gateRequestsBySubject },
  '0064_task_mail': { up: taskMail },
  '0065_replicas': { up: replicaTable, compatibleFrom: '0.1.0' },
  '0066_secrets': { up: secretTable, compatibleFrom: '0.1.0' },
  '0067_replica_keys': { up: replicaKeyTable, compatibleFrom: '0.1.0' },
  '0068_minute_slots': { up: db => minuteTables(db, engine), compatibleFrom: '0.1.0' },
  '0069_quota_recalls': { up: db => recallTable(db, engine), compatibleFrom: '0.1.0' },
  '0069_visitor_requests': { up: visitorRequests, compatibleFrom: '0.1.0' },
  '0070_events': { up: eventTables, compatibleFrom: '0.1.0' },
  '0071_cell_presence': { up: cellPresenceTables, compatibleFrom: '0.1.0' },
  '0072_alerts': { up: alertTable, compatibleFrom: '0.1.0' },
  '0073_webhook_start': { up: webhookStart, compatibleFrom: '0.1.0' },
  '0075_command_holders': { up: commandHolder, compatibleFrom: '0.1.0' },
  // of the records too, which are in the same schema where this changes anything
  '0080_wide_integers': { up: db => engine.widenIntegers(db), compatibleFrom: '0.1.0' },
  '0085_cells_over_replicas': { up: cellsOverReplicas, compatibleFrom: '0.1.0' },
  '0086_replica_details': { up: replicaDetails, compatibleFrom: '0.1.0' },
  '0087_usage_anchors': { up: usageAnchorTable, compatibleFrom: '0.1.0' },
  '0090_join_token_tenant': { up: joinTokenTenant, compatibleFrom: '0.1.0' },
  '0091_devices': { up: deviceTables, compatibleFrom: '0.1.0' },
  '0092_command_devices': { up: commandDevices, compatibleFrom: '0.1.0' },
  '0093_estops': { up: estopTable, compatibleFrom: '0.1.0' },
  '0094_estop_reports': { up: estopReportTable, compatibleFrom: '0.1.0' },
  '0095_formations': { up: formationTable, compatibleFrom: '0.1.0' },
  '0096_formation_parts': { up: formationPartTable, compatibleFrom: '0.1.0' },
  '0098_discovery_traces': { up: entityTables, compatibleFrom: '0.1.0' },
  '0099_discovery_entities': { up: entityPages, compatibleFrom: '0.1.0' },
  '0100_discovery_deltas': { up: entityDeltas, compatibleFrom: '0.1.0' },
  '0101_discovery_scanners': { up: entityScanners, compatibleFrom: '0.1.0' },
  '0102_discovery_run_parts': { up: entityRunParts, compatibleFrom: '0.1.0' },
  '0103_discovery_holders': { up: entityHolders, compatibleFrom: '0.1.0' },
  '0104_discovery_pseudonyms': { up: entityPseudonyms, compatibleFrom: '0.1.0' },
  '0105_discovery_key_alarms': { up: entityKeyAlarms, compatibleFrom: '0.1.0' },
  '0106_discovery_reads': { up: entityReads, compatibleFrom: '0.1.0' },
  '0108_discovery_new_entities': { up: entityFirstSeen, compatibleFrom: '0.1.0' },
  '0110_graph_layers': { up: graphLayerTables, compatibleFrom: '0.1.0' },
  '0111_graph_learning': { up: graphLearningTables, compatibleFrom: '0.1.0' },
  '0112_register_records': { up: registerTable, compatibleFrom: '0.1.0' },
  '0116_flows': { up: flowTables, compatibleFrom: '0.1.0' },
  '0117_ramp_ups': { up: rampUpTable, compatibleFrom: '0.1.0' },
  '0118_ramp_up_health': { up: rampUpHealth, compatibleFrom: '0.1.0' },
  '0119_models': { up: modelTable, compatibleFrom: '0.1.0' },
  '0123_flow_run_indexes': { up: flowRunIndexes, compatibleFrom: '0.1.0' },
  '0124_logged_minutes': { up: db => logMinutes(db, engine), compatibleFrom: '0.1.0' },
  '0125_slowed_webhooks': { up: slowWebhooks, compatibleFrom: '0.1.0' },
  '0130_strict_keys': { up: strictKeys, compatibleFrom: '0.1.0' },
  '0131_stored_responses': { up: storeResponses, compatibleFrom: '0.1.0' },
  '0132_command_outcome': { up: commandOutcome, compatibleFrom: '0.1.0' },
  '0133_call_creations': { up: callCreations, compatibleFrom: '0.1.0' },
})
