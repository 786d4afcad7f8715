import type * as z from 'zod'
import { DISCOVERY_MODULES } from '../../../../../discovery/modules.ts'
import { iso } from '../../../../../shared/time.ts'
import { VERSION } from '../../../../../shared/version.ts'
import { escapeHidden } from '../../../../../shared/visible.ts'
import type { GateViews } from '../../../../access/gates/open.ts'
import { stateAt } from '../../../../access/gates/request.ts'
import type { PeopleViews } from '../../../../access/people/open.ts'
import { listAgentRoles } from '../../../../agents/sessions/roles.ts'
import type { CallViews } from '../../../../calls/invoke/call-views.ts'
import type { DeviceViews } from '../../../../devices/inventory/open.ts'
import { isRaised } from '../../../../fleet/alerts/alert.ts'
import type { MonitorViews } from '../../../../fleet/alerts/open-monitor.ts'
import type { FleetViews } from '../../../../fleet/cells/open.ts'
import type { ReplicaViews } from '../../../../fleet/cells/replica-states.ts'
import type { ModelViews } from '../../../../fleet/models/open.ts'
import type { VitalViews } from '../../../../kernel/base/vitals.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { scopeOf } from '../../../../kernel/declaration/tenant-scope.ts'
import type { QueueViews } from '../../../../kernel/queue/open.ts'
import type { Current, GateAspect, Identity, QueueAspect, TenantAspect } from './aspects.ts'

/** Requests, jobs and alerts in an answer. */
const SHOWN = 50
const MOST_REQUESTS = 200

export const describeCurrent = async (
  context: Context & DeviceViews & FleetViews & GateViews & ModelViews & MonitorViews,
): Promise<z.input<typeof Current>> => {
  const { fleet, monitor, catalogue, devices } = context
  const models = catalogue.map(({ id }) => id)
  const known = devices.list()
  const raised = monitor.alerts().filter(isRaised)
  return {
    fleet_degraded: monitor.isDegraded(),
    cells: countBy([...fleet.cells()], ({ presence }) => presence),
    models_served: models.filter(id => fleet.serves(id)),
    models_missing: models.filter(id => !fleet.serves(id)),
    devices: {
      total: known.length,
      available: known.filter(({ isAvailable }) => isAvailable).length,
    },
    alerts_raised: raised
      .slice(0, SHOWN)
      .map(({ id, level, message }) => ({ alert_id: id, level, message })),
    pending_requests: (await listPending(context)).length,
  }
}

export const describeIdentity = (
  context: Context & CallViews & GateViews & ModelViews & ReplicaViews & VitalViews,
): z.input<typeof Identity> => ({
  version: VERSION,
  uptime_seconds: Math.floor(context.vitals.uptimeSeconds()),
  coordinators: context.replicas.live().map(({ id, version }) => ({ replica_id: id, version })),
  tenant_id: scopeOf(context).tenantId,
  policy_version: String(context.policies.current().version),
  skills: context.skills.length,
  modules: DISCOVERY_MODULES.length,
  models: context.catalogue.length,
  gates: Object.keys(context.gates.definitions).length,
  agent_roles: listAgentRoles().length,
})

export const describeQueue = async (
  context: Context & QueueViews,
): Promise<z.input<typeof QueueAspect>> => {
  const scope = scopeOf(context)
  const lines = await context.queue.board(scope)
  const newest = await context.queue.list({ limit: SHOWN }, scope)
  const sum = (name: 'state' | 'kind'): Record<string, number> => {
    const counts: Record<string, number> = {}
    for (const line of lines) counts[line[name]] = (counts[line[name]] ?? 0) + line.jobs
    return counts
  }
  return {
    by_state: sum('state'),
    by_kind: sum('kind'),
    newest: newest.map(({ id, kind, state, createdAt }) => ({
      job_id: id,
      kind,
      state,
      created_at: iso(createdAt),
    })),
  }
}

export const describeGates = async (
  context: Context & GateViews,
): Promise<z.input<typeof GateAspect>> => {
  const pending = await listPending(context)
  const counts = countBy(pending, ({ gateId }) => gateId)
  return {
    policy_version: String(context.policies.current().version),
    gates: Object.entries(context.gates.definitions).map(([gate_id, { purpose, approvals }]) => ({
      gate_id,
      purpose,
      approvals,
      pending: counts[gate_id] ?? 0,
    })),
    requests: pending.slice(0, SHOWN).map(({ id, gateId, summary, expiresAt }) => ({
      request_id: id,
      gate_id: gateId,
      summary: escapeHidden(summary),
      expires_at: iso(expiresAt),
    })),
  }
}

/** Tenants by the role of the caller: operator_admin sees all that the key acts for, others theirs. */
export const describeTenants = async (
  context: Context & PeopleViews,
): Promise<z.input<typeof TenantAspect>> => {
  const { key, people } = context
  const { tenantId } = scopeOf(context)
  const seesAll = key?.roles.includes('operator_admin') === true
  const ids = seesAll ? [key.tenantId, ...key.furtherTenants] : [tenantId]
  const found = await Promise.all([...new Set(ids)].map(id => people.tenant(id)))
  const tenants = found.filter(tenant => tenant !== undefined)
  return {
    scope: seesAll ? 'all_of_key' : 'own',
    tenants: await Promise.all(
      tenants.map(async ({ id, name, disabledAt }) => ({
        tenant_id: id,
        name,
        is_enabled: disabledAt === undefined,
        persons: (await people.list({ tenantId: id })).length,
      })),
    ),
  }
}

const listPending = async (context: Context & GateViews) => {
  const now = context.now()
  const filter = { states: ['pending'] as const, limit: MOST_REQUESTS }
  const found = await context.gates.list(filter, scopeOf(context))
  return found.filter(request => stateAt(request, now) === 'pending')
}

const countBy = <T>(all: readonly T[], nameOf: (each: T) => string): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const each of all) counts[nameOf(each)] = (counts[nameOf(each)] ?? 0) + 1
  return counts
}
