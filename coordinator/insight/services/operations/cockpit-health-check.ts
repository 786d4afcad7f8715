import * as z from 'zod'
import type { FlowViews } from '../../../agents/flows/open.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import type { ServiceViews } from '../open.ts'
import { SERVICE_IDS, type ServiceHealth } from '../services.ts'
import { HealthView, healthViewOf } from './health-view.ts'
import { notifyDown } from './notify-down.ts'
import { type StartedRepair, startRepair } from './start-repair.ts'

const REPAIRS = ['not_needed', 'dry_run', 'off', 'not_configured', 'started', 'ended'] as const

export default defineSkill({
  id: 'cockpit-health-check',
  group: 'fleet',
  name: 'Cockpit health check',
  description:
    'Ask a service for its health over HTTP. One that is down gets a repair that people must approve.',
  tags: ['services', 'health', 'repair'],
  access: 'operator',
  effect: 'write',
  openWorld: true,
  input: z.strictObject({
    service_id: z.enum(SERVICE_IDS).default('cockpit'),
    deep_check: z
      .boolean()
      .default(false)
      .describe('Also read discovery documents and signing keys, or the configured deep address.'),
    notify_on_down: z
      .boolean()
      .default(true)
      .describe('Start a repair and notify the operators when the service is down.'),
    dry_run: z.boolean().default(false).describe('Ask the service and start nothing.'),
  }),
  examples: [{ service_id: 'keycloak', deep_check: true, dry_run: true }],
  output: HealthView.extend({
    data_state: DataState,
    repair: z.object({
      state: z
        .enum(REPAIRS)
        .describe(
          '`not_configured`: the service is down and has no `repair_url`. `ended`: its last repair ended within the hour; the next one starts after that.',
        ),
      incident_id: z.string().nullable(),
      run_id: z.string().nullable().describe('Run of the flow that waits at gate.repair-run.'),
      request_id: z
        .string()
        .nullable()
        .describe('Request at gate.repair-run that another person approves or rejects.'),
      job_id: z.string().nullable(),
      notice_job_ids: z.array(z.string()).describe('Jobs that notify the operators.'),
    }),
  }),
  toLoad: '`services` in the configuration of the coordinator; docs/flows.md',
  run: async (
    { service_id, deep_check, notify_on_down, dry_run },
    context: Context & FlowViews & ServiceViews,
  ) => {
    const { services, signal } = context
    const health = await services.check(service_id, { isDeep: deep_check }, signal)
    const state = dry_run && health.state === 'down' ? 'dry_run' : repairStateOf(health, context)
    const wanted = state === 'started' && !notify_on_down ? 'off' : state
    const repair = wanted === 'started' ? await startRepair(health, context) : undefined
    const isTold = notify_on_down && (wanted === 'started' || wanted === 'not_configured')
    const jobIds = isTold ? await notifyDown(health, context, repair) : []
    const isOpen = repair === undefined || repair.run.endedAt === undefined
    return {
      ...healthViewOf(health),
      data_state: dataState(health.checks.length),
      repair: {
        state: isOpen ? wanted : ('ended' as const),
        ...repairViewOf(repair),
        notice_job_ids: jobIds,
      },
    }
  },
})

const repairStateOf = (
  { serviceId, state }: ServiceHealth,
  { services }: Pick<ServiceViews, 'services'>,
): (typeof REPAIRS)[number] => {
  if (state !== 'down') return 'not_needed'
  return services.repairUrl(serviceId) === undefined ? 'not_configured' : 'started'
}

const repairViewOf = (repair: StartedRepair | undefined) => ({
  incident_id: repair?.incidentId ?? null,
  run_id: repair?.run.id ?? null,
  request_id: repair?.requestId ?? null,
  job_id: repair?.run.jobId ?? null,
})
