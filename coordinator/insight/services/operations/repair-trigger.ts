import * as z from 'zod'
import { ShoalError } from '../../../../shared/errors.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import type { ServiceViews } from '../open.ts'
import type { RepairPlan } from '../service-repair.ts'
import { incidentIdOf, SERVICE_IDS, type ServiceHealth } from '../services.ts'
import { HealthView, healthViewOf } from './health-view.ts'

const Text = z.string().max(200)

export default defineSkill({
  id: 'repair-trigger',
  group: 'fleet',
  name: 'Trigger repair',
  description:
    'Repair a service that is down, after an approval. A service that is up, unknown or not configured is never repaired.',
  tags: ['services', 'repair', 'gates'],
  access: 'operator',
  effect: 'gated',
  input: z.strictObject({
    service_id: z.string().max(64).describe('cockpit, keycloak or iio_api.'),
    incident_id: z
      .string()
      .max(64)
      .exactOptional()
      .describe('Incident that the repair belongs to.'),
    severity: z.string().max(32).exactOptional(),
    failure: Text.exactOptional().describe('What has failed, for the approvers.'),
    server: Text.exactOptional().describe('Machine that the service runs on.'),
  }),
  examples: [{ service_id: 'keycloak', severity: 'high', failure: 'health endpoint refuses' }],
  output: z.object({
    health: HealthView,
    repair: z
      .enum(['queued', 'not_needed', 'unknown', 'not_configured'])
      .describe('`queued` only for a service that is down; the other values say why not.'),
    incident_id: z.string(),
    job_id: z.string().nullable().describe('Job that carries the repair out.'),
  }),
  success: {
    field: 'repair',
    codes: { queued: 0, not_needed: 0, unknown: 69, not_configured: 69 },
  },
  plan: async ({ service_id, ...input }, { services, signal }: Context & ServiceViews) => {
    const serviceId = SERVICE_IDS.find(id => id === service_id)
    if (serviceId === undefined) throw createUnknownError(service_id)
    const health = await services.check(serviceId, { isDeep: false }, signal)
    const covers: RepairPlan = {
      service_id: serviceId,
      incident_id: input.incident_id ?? incidentIdOf(serviceId, input.failure ?? 'down'),
      severity: input.severity ?? null,
      failure: input.failure ?? null,
      server: input.server ?? null,
    }
    const repair = repairOf(health, services.repairUrl(serviceId))
    const plan: Plan = { health, repair, covers }
    const summary = `Repair ${serviceId}: ${health.reason ?? 'it is up'}`
    if (repair !== 'queued') return { plan, summary }
    // a request for another incident leaves one that waits alone
    const subject = `repair ${serviceId} ${covers.incident_id}`
    return {
      plan,
      summary,
      gate: 'gate.repair-run',
      subject,
      covers,
      evidence: health.checks.map(evidenceOf),
    }
  },
  run: async ({ health, repair, covers }: Plan, context: Context & ServiceViews, approval) => {
    const { tenantId } = scopeOf(context)
    const jobId = await approval?.use(trx => context.repairs.addWithin(trx, covers, tenantId))
    context.repairs.wake()
    return {
      health: healthViewOf(health),
      repair,
      incident_id: covers.incident_id,
      job_id: jobId ?? null,
    }
  },
})

type Repair = 'queued' | 'not_needed' | 'unknown' | 'not_configured'

interface Plan {
  health: ServiceHealth
  repair: Repair
  covers: RepairPlan
}

const repairOf = ({ state }: ServiceHealth, repairUrl: string | undefined): Repair => {
  if (state === 'down') return repairUrl === undefined ? 'not_configured' : 'queued'
  return state === 'unknown' || state === 'not_configured' ? state : 'not_needed'
}

const evidenceOf = ({ name, state, fault }: ServiceHealth['checks'][number]) => ({
  name,
  state,
  fault: fault ?? null,
})

const createUnknownError = (id: string): ShoalError =>
  new ShoalError('invalid_request', `no service ${id}; known: ${SERVICE_IDS.join(', ')}`, {
    param: 'service_id',
  })
