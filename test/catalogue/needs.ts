// Made by `npm run docs` from the folders of operations; do not edit it by hand.
// The compiler refuses the line of a file whose operations need a view that no part provides.
import type { Views } from '../../coordinator/assembly/coordinator.ts'
import type { Context } from '../../coordinator/kernel/declaration/context.ts'
import type { Operation } from '../../coordinator/kernel/declaration/operation.ts'

/** Context with which every operation is called. */
type All = Context & Views
type NeedsOf<O> = O extends readonly (infer One)[]
  ? NeedsOf<One>
  : O extends Operation<infer Needs>
    ? Needs
    : never
type Met<O, _Given extends NeedsOf<O>> = O

export type Operations = [
  Met<
    typeof import('../../coordinator/access/gates/operations/gate-routing-query.ts').default,
    All
  >,
  Met<typeof import('../../coordinator/access/gates/operations/gates-approve.ts').default, All>,
  Met<typeof import('../../coordinator/access/gates/operations/gates-check.ts').default, All>,
  Met<typeof import('../../coordinator/access/gates/operations/gates-consume.ts').default, All>,
  Met<typeof import('../../coordinator/access/gates/operations/gates-describe.ts').default, All>,
  Met<typeof import('../../coordinator/access/gates/operations/gates-list.ts').default, All>,
  Met<typeof import('../../coordinator/access/gates/operations/gates-reject.ts').default, All>,
  Met<typeof import('../../coordinator/access/gates/operations/gates-request.ts').default, All>,
  Met<typeof import('../../coordinator/access/gates/operations/gates-requests.ts').default, All>,
  Met<typeof import('../../coordinator/access/gates/operations/gates-show.ts').default, All>,
  Met<typeof import('../../coordinator/access/gates/operations/gates-withdraw.ts').default, All>,
  Met<typeof import('../../coordinator/access/gates/operations/hitl-gate.ts').default, All>,
  Met<typeof import('../../coordinator/access/gates/operations/policy-check.ts').default, All>,
  Met<
    typeof import('../../coordinator/access/gates/operations/policy/policy-change.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/access/gates/operations/policy/policy-checks.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/access/gates/operations/policy/policy-history.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/access/gates/operations/policy/policy-show.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/access/gates/operations/policy/policy-upgrade.ts').default,
    All
  >,
  Met<typeof import('../../coordinator/access/keys/operations/keys-apply.ts').default, All>,
  Met<typeof import('../../coordinator/access/keys/operations/keys-claim.ts').default, All>,
  Met<typeof import('../../coordinator/access/keys/operations/keys-list.ts').default, All>,
  Met<typeof import('../../coordinator/access/keys/operations/keys-request.ts').default, All>,
  Met<typeof import('../../coordinator/access/keys/operations/keys-retire.ts').default, All>,
  Met<typeof import('../../coordinator/access/keys/operations/keys-reveal.ts').default, All>,
  Met<typeof import('../../coordinator/access/keys/operations/keys-revoke.ts').default, All>,
  Met<typeof import('../../coordinator/access/keys/operations/keys-rotate.ts').default, All>,
  Met<
    typeof import('../../coordinator/access/people/operations/persons/persons-create.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/access/people/operations/persons/persons-disable.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/access/people/operations/persons/persons-enable.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/access/people/operations/persons/persons-list.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/access/people/operations/tenants/tenants-create.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/access/people/operations/tenants/tenants-disable.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/access/people/operations/tenants/tenants-enable.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/access/people/operations/tenants/tenants-list.ts').default,
    All
  >,
  Met<typeof import('../../coordinator/access/quota/operations/tiers/tiers-list.ts').default, All>,
  Met<typeof import('../../coordinator/access/quota/operations/usage/usage-list.ts').default, All>,
  Met<
    typeof import('../../coordinator/agents/conversations/operations/conversations-create.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/agents/conversations/operations/conversations-list.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/agents/conversations/operations/conversations-message.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/agents/conversations/operations/conversations-show.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/agents/conversations/operations/multi-agent-conversation.ts').default,
    All
  >,
  Met<typeof import('../../coordinator/agents/flows/operations/find-flow.ts').default, All>,
  Met<typeof import('../../coordinator/agents/flows/operations/flow-status.ts').default, All>,
  Met<typeof import('../../coordinator/agents/flows/operations/flows-cancel.ts').default, All>,
  Met<typeof import('../../coordinator/agents/flows/operations/flows-list.ts').default, All>,
  Met<typeof import('../../coordinator/agents/flows/operations/flows-run.ts').default, All>,
  Met<typeof import('../../coordinator/agents/flows/operations/flows-runs.ts').default, All>,
  Met<typeof import('../../coordinator/agents/flows/operations/flows-show.ts').default, All>,
  Met<typeof import('../../coordinator/agents/flows/operations/synergy-trigger.ts').default, All>,
  Met<typeof import('../../coordinator/agents/sessions/operations/agent-briefing.ts').default, All>,
  Met<
    typeof import('../../coordinator/agents/sessions/operations/agent-capability-check.ts').default,
    All
  >,
  Met<typeof import('../../coordinator/agents/sessions/operations/find-agent.ts').default, All>,
  Met<typeof import('../../coordinator/agents/sessions/operations/operator-peer.ts').default, All>,
  Met<
    typeof import('../../coordinator/agents/sessions/operations/recommend-next-skill.ts').default,
    All
  >,
  Met<typeof import('../../coordinator/agents/sessions/operations/sads-discover.ts').default, All>,
  Met<typeof import('../../coordinator/agents/sessions/operations/sads-dock.ts').default, All>,
  Met<typeof import('../../coordinator/agents/sessions/operations/sessions-brief.ts').default, All>,
  Met<typeof import('../../coordinator/agents/sessions/operations/sessions-check.ts').default, All>,
  Met<typeof import('../../coordinator/agents/sessions/operations/sessions-claim.ts').default, All>,
  Met<typeof import('../../coordinator/agents/sessions/operations/sessions-dock.ts').default, All>,
  Met<
    typeof import('../../coordinator/agents/sessions/operations/sessions-evidence.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/agents/sessions/operations/sessions-execute.ts').default,
    All
  >,
  Met<typeof import('../../coordinator/agents/sessions/operations/sessions-list.ts').default, All>,
  Met<typeof import('../../coordinator/agents/sessions/operations/sessions-show.ts').default, All>,
  Met<
    typeof import('../../coordinator/agents/sessions/operations/sessions-undock.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/agents/sessions/operations/tasks/tasks-update.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/agents/webhooks/operations/discovery/discovery-subscribe.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/agents/webhooks/operations/webhooks-create.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/agents/webhooks/operations/webhooks-delete.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/agents/webhooks/operations/webhooks-enable.ts').default,
    All
  >,
  Met<typeof import('../../coordinator/agents/webhooks/operations/webhooks-list.ts').default, All>,
  Met<
    typeof import('../../coordinator/agents/webhooks/operations/webhooks-rotate.ts').default,
    All
  >,
  Met<typeof import('../../coordinator/agents/webhooks/operations/webhooks-show.ts').default, All>,
  Met<typeof import('../../coordinator/agents/webhooks/operations/webhooks-test.ts').default, All>,
  Met<typeof import('../../coordinator/calls/invoke/operations/skill-stats.ts').default, All>,
  Met<
    typeof import('../../coordinator/calls/invoke/operations/skills/skills-list.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/calls/invoke/operations/skills/skills-show.ts').default,
    All
  >,
  Met<typeof import('../../coordinator/calls/tasks/operations/tasks-cancel.ts').default, All>,
  Met<typeof import('../../coordinator/calls/tasks/operations/tasks-hooks-create.ts').default, All>,
  Met<typeof import('../../coordinator/calls/tasks/operations/tasks-hooks-delete.ts').default, All>,
  Met<typeof import('../../coordinator/calls/tasks/operations/tasks-hooks-list.ts').default, All>,
  Met<typeof import('../../coordinator/calls/tasks/operations/tasks-hooks-show.ts').default, All>,
  Met<typeof import('../../coordinator/calls/tasks/operations/tasks-list.ts').default, All>,
  Met<typeof import('../../coordinator/calls/tasks/operations/tasks-show.ts').default, All>,
  Met<typeof import('../../coordinator/calls/tasks/operations/tasks-transitions.ts').default, All>,
  Met<
    typeof import('../../coordinator/devices/inventory/operations/device-command.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/devices/inventory/operations/device-status.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/devices/inventory/operations/devices/devices-commands.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/devices/inventory/operations/devices/devices-envelope.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/devices/inventory/operations/devices/devices-estop-release.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/devices/inventory/operations/devices/devices-estop-show.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/devices/inventory/operations/devices/devices-estop.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/devices/inventory/operations/devices/devices-hold.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/devices/inventory/operations/devices/devices-label.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/devices/inventory/operations/devices/devices-land.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/devices/inventory/operations/devices/devices-list.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/devices/inventory/operations/devices/devices-plan.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/devices/inventory/operations/devices/devices-profiles.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/devices/inventory/operations/devices/devices-run.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/devices/inventory/operations/devices/devices-series.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/devices/inventory/operations/devices/devices-show.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/devices/inventory/operations/devices/devices-stop.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/devices/inventory/operations/mavlink-status.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/devices/inventory/operations/printer-status.ts').default,
    All
  >,
  Met<typeof import('../../coordinator/devices/inventory/operations/ros2-command.ts').default, All>,
  Met<typeof import('../../coordinator/devices/mqtt/operations/mqtt-allowed.ts').default, All>,
  Met<typeof import('../../coordinator/devices/mqtt/operations/mqtt-bridge.ts').default, All>,
  Met<typeof import('../../coordinator/devices/mqtt/operations/mqtt-brokers.ts').default, All>,
  Met<typeof import('../../coordinator/devices/mqtt/operations/mqtt-devices.ts').default, All>,
  Met<typeof import('../../coordinator/devices/mqtt/operations/mqtt-publish.ts').default, All>,
  Met<typeof import('../../coordinator/devices/mqtt/operations/mqtt-retained.ts').default, All>,
  Met<typeof import('../../coordinator/devices/mqtt/operations/mqtt-subscribe.ts').default, All>,
  Met<typeof import('../../coordinator/devices/mqtt/operations/mqtt-topics.ts').default, All>,
  Met<typeof import('../../coordinator/devices/swarm/operations/swarm-abort.ts').default, All>,
  Met<typeof import('../../coordinator/devices/swarm/operations/swarm-analytics.ts').default, All>,
  Met<typeof import('../../coordinator/devices/swarm/operations/swarm-clearance.ts').default, All>,
  Met<typeof import('../../coordinator/devices/swarm/operations/swarm-formation.ts').default, All>,
  Met<typeof import('../../coordinator/devices/swarm/operations/swarm-list.ts').default, All>,
  Met<typeof import('../../coordinator/devices/swarm/operations/swarm-members.ts').default, All>,
  Met<typeof import('../../coordinator/devices/swarm/operations/swarm-plan.ts').default, All>,
  Met<typeof import('../../coordinator/devices/swarm/operations/swarm-run.ts').default, All>,
  Met<typeof import('../../coordinator/devices/swarm/operations/swarm-series.ts').default, All>,
  Met<typeof import('../../coordinator/devices/swarm/operations/swarm-show.ts').default, All>,
  Met<typeof import('../../coordinator/devices/swarm/operations/swarm-state.ts').default, All>,
  Met<
    typeof import('../../coordinator/discovery/entities/operations/discovery-correlate.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/discovery/entities/operations/discovery-delta.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/discovery/entities/operations/discovery-quick.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/discovery/entities/operations/discovery-registry.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/discovery/entities/operations/discovery-run-module.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/discovery/entities/operations/discovery-status.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/discovery/entities/operations/discovery/discovery-auto-run-set.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/discovery/entities/operations/discovery/discovery-auto-run-show.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/discovery/entities/operations/discovery/discovery-changes.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/discovery/entities/operations/discovery/discovery-dashboard.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/discovery/entities/operations/discovery/discovery-entities.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/discovery/entities/operations/discovery/discovery-entity.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/discovery/entities/operations/discovery/discovery-export.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/discovery/entities/operations/discovery/discovery-forget.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/discovery/entities/operations/discovery/discovery-merge.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/discovery/entities/operations/discovery/discovery-pin.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/discovery/entities/operations/discovery/discovery-pins.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/discovery/entities/operations/discovery/discovery-run.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/discovery/entities/operations/discovery/discovery-scope-add.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/discovery/entities/operations/discovery/discovery-scope-list.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/discovery/entities/operations/discovery/discovery-scope-remove.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/discovery/entities/operations/discovery/discovery-show.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/discovery/entities/operations/discovery/discovery-split.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/discovery/entities/operations/discovery/discovery-unpin.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/discovery/entities/operations/wireless-full.ts').default,
    All
  >,
  Met<typeof import('../../coordinator/discovery/modules/operations/module.ts').default, All>,
  Met<
    typeof import('../../coordinator/fleet/alerts/operations/alerts-acknowledge.ts').default,
    All
  >,
  Met<typeof import('../../coordinator/fleet/alerts/operations/alerts-list.ts').default, All>,
  Met<typeof import('../../coordinator/fleet/alerts/operations/alerts-reopen.ts').default, All>,
  Met<typeof import('../../coordinator/fleet/alerts/operations/alerts-rules.ts').default, All>,
  Met<typeof import('../../coordinator/fleet/alerts/operations/alerts-show.ts').default, All>,
  Met<typeof import('../../coordinator/fleet/cells/operations/cells-config-get.ts').default, All>,
  Met<typeof import('../../coordinator/fleet/cells/operations/cells-config-set.ts').default, All>,
  Met<typeof import('../../coordinator/fleet/cells/operations/cells-dedicate.ts').default, All>,
  Met<typeof import('../../coordinator/fleet/cells/operations/cells-drain.ts').default, All>,
  Met<typeof import('../../coordinator/fleet/cells/operations/cells-label.ts').default, All>,
  Met<typeof import('../../coordinator/fleet/cells/operations/cells-list.ts').default, All>,
  Met<typeof import('../../coordinator/fleet/cells/operations/cells-load.ts').default, All>,
  Met<typeof import('../../coordinator/fleet/cells/operations/cells-metrics.ts').default, All>,
  Met<typeof import('../../coordinator/fleet/cells/operations/cells-pin.ts').default, All>,
  Met<typeof import('../../coordinator/fleet/cells/operations/cells-release.ts').default, All>,
  Met<typeof import('../../coordinator/fleet/cells/operations/cells-renew.ts').default, All>,
  Met<typeof import('../../coordinator/fleet/cells/operations/cells-resume.ts').default, All>,
  Met<typeof import('../../coordinator/fleet/cells/operations/cells-revoke.ts').default, All>,
  Met<typeof import('../../coordinator/fleet/cells/operations/cells-series.ts').default, All>,
  Met<typeof import('../../coordinator/fleet/cells/operations/cells-show.ts').default, All>,
  Met<typeof import('../../coordinator/fleet/cells/operations/cells-unload.ts').default, All>,
  Met<typeof import('../../coordinator/fleet/cells/operations/cells-unpin.ts').default, All>,
  Met<typeof import('../../coordinator/fleet/cells/operations/fleet-utilization.ts').default, All>,
  Met<
    typeof import('../../coordinator/fleet/cells/operations/replicas/replicas-list.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/fleet/cells/operations/tags/tags-config-set.ts').default,
    All
  >,
  Met<typeof import('../../coordinator/fleet/cells/operations/vram-guard.ts').default, All>,
  Met<
    typeof import('../../coordinator/fleet/control/operations/commands/commands-create.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/fleet/control/operations/commands/commands-list.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/fleet/control/operations/commands/commands-show.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/fleet/enrolment/operations/signing-key/signing-key-rotate.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/fleet/enrolment/operations/signing-key/signing-key-show.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/fleet/enrolment/operations/tokens/tokens-create.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/fleet/enrolment/operations/tokens/tokens-list.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/fleet/enrolment/operations/tokens/tokens-revoke.ts').default,
    All
  >,
  Met<typeof import('../../coordinator/fleet/models/operations/models-add.ts').default, All>,
  Met<typeof import('../../coordinator/fleet/models/operations/models-alias.ts').default, All>,
  Met<typeof import('../../coordinator/fleet/models/operations/models-list.ts').default, All>,
  Met<typeof import('../../coordinator/fleet/models/operations/models-pull.ts').default, All>,
  Met<typeof import('../../coordinator/fleet/models/operations/models-remove.ts').default, All>,
  Met<typeof import('../../coordinator/fleet/models/operations/models-search.ts').default, All>,
  Met<typeof import('../../coordinator/fleet/models/operations/models-show.ts').default, All>,
  Met<typeof import('../../coordinator/fleet/questions/operations/host/host.ts').default, All>,
  Met<typeof import('../../coordinator/fleet/rampup/operations/rampup-plan.ts').default, All>,
  Met<
    typeof import('../../coordinator/gateway/dispatch/operations/routing/routing-show.ts').default,
    All
  >,
  Met<typeof import('../../coordinator/insight/backup/operations/backup-status.ts').default, All>,
  Met<typeof import('../../coordinator/insight/business/operations/arr-analysis.ts').default, All>,
  Met<typeof import('../../coordinator/insight/business/operations/cost-analysis.ts').default, All>,
  Met<
    typeof import('../../coordinator/insight/business/operations/recruitment-pipeline.ts').default,
    All
  >,
  Met<typeof import('../../coordinator/insight/business/operations/team-status.ts').default, All>,
  Met<typeof import('../../coordinator/insight/business/operations/tenant-health.ts').default, All>,
  Met<
    typeof import('../../coordinator/insight/business/operations/tenant-metrics.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/business/operations/tenant-overview.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/business/operations/training-status.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/compliance/operations/compliance-check.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/compliance/operations/compliance-report.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/compliance/operations/compliance-status.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/knowledge/operations/graph/graph-activate.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/knowledge/operations/graph/graph-edges.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/knowledge/operations/graph/graph-export.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/knowledge/operations/graph/graph-import.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/knowledge/operations/graph/graph-layers-delete.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/knowledge/operations/graph/graph-layers.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/knowledge/operations/graph/graph-learning-set.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/knowledge/operations/graph/graph-learning.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/knowledge/operations/graph/graph-neighbours.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/knowledge/operations/graph/graph-node.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/knowledge/operations/graph/graph-nodes.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/knowledge/operations/graph/graph-path.ts').default,
    All
  >,
  Met<typeof import('../../coordinator/insight/knowledge/operations/layer-query.ts').default, All>,
  Met<typeof import('../../coordinator/insight/knowledge/operations/neural-query.ts').default, All>,
  Met<
    typeof import('../../coordinator/insight/knowledge/operations/synesthetic-translate.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/knowledge/operations/world-model-query.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/knowledge/operations/world-model-status.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/overview/operations/fleet-optimize.ts').default,
    All
  >,
  Met<typeof import('../../coordinator/insight/overview/operations/gap-report.ts').default, All>,
  Met<
    typeof import('../../coordinator/insight/overview/operations/get_metamorphosis_status.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/overview/operations/get_synergy_health.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/overview/operations/ops-daily-status.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/overview/operations/performance-report.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/overview/operations/portal/otrs-dashboard.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/overview/operations/quality-report.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/overview/operations/rampup-control.ts').default,
    All
  >,
  Met<typeof import('../../coordinator/insight/overview/operations/self-diagnose.ts').default, All>,
  Met<
    typeof import('../../coordinator/insight/overview/operations/system-analytics.ts').default,
    All
  >,
  Met<typeof import('../../coordinator/insight/planning/operations/evm_calc.ts').default, All>,
  Met<
    typeof import('../../coordinator/insight/planning/operations/gantt_schedule.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/planning/operations/usecase_cost_calc.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/registers/operations/people/people-erase.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/registers/operations/people/people-export.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/registers/operations/registers-delete.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/registers/operations/registers-export.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/registers/operations/registers-import.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/registers/operations/registers-kinds.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/registers/operations/registers-list.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/registers/operations/registers-put.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/registers/operations/registers-show.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/reports/operations/get_release_readiness.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/services/operations/cockpit-health-check.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/services/operations/get_tenant_chat_status.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/services/operations/repair-trigger.ts').default,
    All
  >,
  Met<
    typeof import('../../coordinator/insight/services/operations/run-test-suite.ts').default,
    All
  >,
  Met<typeof import('../../coordinator/insight/services/operations/testcenter.ts').default, All>,
  Met<typeof import('../../coordinator/kernel/audit/operations/audit-export.ts').default, All>,
  Met<typeof import('../../coordinator/kernel/audit/operations/audit-head.ts').default, All>,
  Met<typeof import('../../coordinator/kernel/audit/operations/audit-query.ts').default, All>,
  Met<typeof import('../../coordinator/kernel/audit/operations/audit-show.ts').default, All>,
  Met<typeof import('../../coordinator/kernel/audit/operations/audit-verify.ts').default, All>,
  Met<typeof import('../../coordinator/kernel/queue/operations/get_queue_board.ts').default, All>,
  Met<typeof import('../../coordinator/kernel/queue/operations/queue-board.ts').default, All>,
  Met<typeof import('../../coordinator/kernel/queue/operations/queue-cancel.ts').default, All>,
  Met<
    typeof import('../../coordinator/kernel/queue/operations/queue-dead-letters.ts').default,
    All
  >,
  Met<typeof import('../../coordinator/kernel/queue/operations/queue-discard.ts').default, All>,
  Met<typeof import('../../coordinator/kernel/queue/operations/queue-list.ts').default, All>,
  Met<typeof import('../../coordinator/kernel/queue/operations/queue-retry.ts').default, All>,
  Met<typeof import('../../coordinator/kernel/queue/operations/queue-show.ts').default, All>,
  Met<
    typeof import('../../coordinator/kernel/upstreams/operations/upstreams-verify.ts').default,
    All
  >,
  Met<typeof import('../../coordinator/discovery/modules/module-skills.ts').MODULE_SKILLS, All>,
]
