import * as z from 'zod'
import { iso } from '../../../../shared/time.ts'
import type { FlowViews } from '../../../agents/flows/open.ts'
import type { CallHourViews } from '../../../calls/invoke/open-call-hours.ts'
import { diagnose, worstResult } from '../../../fleet/alerts/diagnosis.ts'
import type { MonitorViews } from '../../../fleet/alerts/open-monitor.ts'
import type { FleetViews } from '../../../fleet/cells/open.ts'
import type { ReplicaViews } from '../../../fleet/cells/replica-states.ts'
import type { EnrolmentViews } from '../../../fleet/enrolment/open.ts'
import type { ModelViews } from '../../../fleet/models/open.ts'
import type { RampUpViews } from '../../../fleet/rampup/open.ts'
import type { VitalViews } from '../../../kernel/base/vitals.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import { CONNECT_CELL } from '../../../kernel/declaration/to-load.ts'
import type { QueueViews } from '../../../kernel/queue/open.ts'
import type { ListenerViews } from '../../../kernel/tls/open.ts'
import {
  FleetOverview,
  overviewOf,
  QueueOverview,
  queueOverviewOf,
  VramAlert,
  vramAlertsOf,
} from '../../overview/fleet-overview.ts'
import { observeSelf } from '../../overview/observe-self.ts'
import {
  checkServices,
  FlowCounts,
  flowOverviewOf,
  RampUpOverview,
  rampUpOverviewOf,
  ServiceState,
  SynergyCounts,
} from '../../overview/platform-overview.ts'
import type { ReportViews } from '../../reports/open.ts'
import { comparePeriods } from '../../reports/period.ts'
import type { ServiceViews } from '../open.ts'

const Result = z.enum(['pass', 'warn', 'fail', 'unknown'])
/** Tools that are listed. */
const MOST_TOOLS = 20

export default defineSkill({
  id: 'testcenter',
  group: 'operations',
  name: 'Test center',
  description:
    'Show queue, fleet, infrastructure mode, flows, synergies, ramp-ups, tool activity, VRAM alerts and service health at one glance.',
  tags: ['operations', 'testing', 'fleet'],
  access: 'operator',
  effect: 'read',
  input: z.strictObject({}),
  output: z.object({
    data_state: DataState,
    generated_at: z.iso.datetime(),
    queue: QueueOverview,
    fleet: FleetOverview,
    infrastructure: z.object({
      mode: z.enum(['single', 'replicated']).describe('Replicated: several coordinators are live.'),
      coordinators: z.int(),
      store: z.enum(['sqlite', 'postgresql']),
      broker: z.enum(['embedded', 'external']),
      broker_connected: z.boolean(),
      egress: z.enum(['on', 'off']).describe('Off: no outside source is asked.'),
      encrypted: z.boolean(),
      loopback_only: z.boolean(),
      uptime_seconds: z.int(),
    }),
    flows: FlowCounts,
    synergies: SynergyCounts,
    ramp_ups: RampUpOverview,
    tool_activity: z.object({
      data_state: DataState,
      calls: z.int().describe("The tenant's calls of skills and operations over 24 hours."),
      errors: z.int(),
      tools: z
        .array(z.object({ id: z.string(), calls: z.int(), errors: z.int() }))
        .describe('The 20 most called ones.'),
    }),
    vram_alerts: z.array(VramAlert),
    service_health: z.object({
      result: Result.describe('Worst result of the self-diagnosis.'),
      failing: z.array(
        z.object({ id: z.string(), result: Result, observed: z.string() }).describe('A check.'),
      ),
      services: z.array(ServiceState).describe('Configured services of the operator.'),
    }),
  }),
  toLoad: CONNECT_CELL,
  run: async (
    _input,
    context: Context &
      CallHourViews &
      EnrolmentViews &
      FleetViews &
      FlowViews &
      ListenerViews &
      ModelViews &
      MonitorViews &
      QueueViews &
      RampUpViews &
      ReplicaViews &
      ReportViews &
      ServiceViews &
      VitalViews,
  ) => {
    const { now } = context
    const [queue, activity, checks, { flows, synergies }, rampUps, services] = await Promise.all([
      queueOverviewOf(context, scopeOf(context)),
      activityOf(context),
      observeSelf(context).then(diagnose),
      flowOverviewOf(context),
      rampUpOverviewOf(context),
      checkServices(context),
    ])
    const fleet = overviewOf(context)
    const states = [queue, fleet, flows, synergies, rampUps, activity].map(part => part.data_state)
    return {
      data_state: dataState(states.filter(state => state !== 'empty').length),
      generated_at: iso(now()),
      queue,
      fleet,
      infrastructure: infrastructureOf(context),
      flows,
      synergies,
      ramp_ups: rampUps,
      tool_activity: activity,
      vram_alerts: vramAlertsOf(context),
      service_health: {
        result: worstResult(checks.map(({ result }) => result)),
        failing: checks
          .filter(({ result }) => result === 'warn' || result === 'fail')
          .map(({ id, result, observed }) => ({ id, result, observed })),
        services,
      },
    }
  },
})

const activityOf = async (context: Context & CallHourViews) => {
  const { current } = comparePeriods(context.now())
  const calls = await context.callHours.read({ ...scopeOf(context), ...current })
  return {
    data_state: dataState(calls.length),
    calls: calls.reduce((all, call) => all + call.calls, 0),
    errors: calls.reduce((all, { errors }) => all + errors, 0),
    tools: calls
      .slice(0, MOST_TOOLS)
      .map(({ operationId: id, calls, errors }) => ({ id, calls, errors })),
  }
}

const infrastructureOf = ({
  infrastructure,
  replicas,
  vitals,
  listens,
}: ListenerViews & ReplicaViews & ReportViews & VitalViews) => {
  const coordinators = replicas.live().length
  return {
    mode: coordinators > 1 ? ('replicated' as const) : ('single' as const),
    coordinators,
    store: infrastructure.store,
    broker: infrastructure.broker,
    broker_connected: vitals.brokerConnected(),
    egress: infrastructure.egress,
    encrypted: listens.encrypted,
    loopback_only: listens.loopbackOnly,
    uptime_seconds: vitals.uptimeSeconds(),
  }
}
