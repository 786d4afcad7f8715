import * as z from 'zod'
import { iso } from '../../../../../shared/time.ts'
import type { GateViews } from '../../../../access/gates/open.ts'
import type { FlowViews } from '../../../../agents/flows/open.ts'
import { alertData, isRaised } from '../../../../fleet/alerts/alert.ts'
import type { MonitorViews } from '../../../../fleet/alerts/open-monitor.ts'
import { AlertView } from '../../../../fleet/alerts/operations/alert-view.ts'
import type { FleetViews } from '../../../../fleet/cells/open.ts'
import type { ModelViews } from '../../../../fleet/models/open.ts'
import type { RampUpViews } from '../../../../fleet/rampup/open.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import { scopeOf } from '../../../../kernel/declaration/tenant-scope.ts'
import type { QueueViews } from '../../../../kernel/queue/open.ts'
import { comparePeriods } from '../../../reports/period.ts'
import type { ServiceViews } from '../../../services/open.ts'
import { AlertOverview, countAlerts, GateOverview, readGates } from '../../day-overview.ts'
import { FleetOverview, overviewOf, QueueOverview, queueOverviewOf } from '../../fleet-overview.ts'
import {
  checkServices,
  FlowCounts,
  flowOverviewOf,
  RampUpOverview,
  rampUpOverviewOf,
  ServiceState,
  SynergyCounts,
} from '../../platform-overview.ts'

/** Raised alerts that are listed. */
const MOST_ALERTS = 100

export default defineOperation({
  id: 'otrs-dashboard',
  description:
    'Show the live operations dashboard: fleet, queue, flows, gates, alerts and services.',
  method: 'GET',
  path: '/portal/api/otrs/dashboard',
  access: 'operator',
  effect: 'read',
  tool: false,
  cli: { group: 'portal', verb: 'dashboard' },
  input: z.strictObject({}),
  output: z.object({
    generated_at: z.iso.datetime(),
    fleet: FleetOverview,
    queue: QueueOverview,
    flows: FlowCounts,
    synergies: SynergyCounts,
    ramp_ups: RampUpOverview,
    gates: GateOverview,
    alerts: AlertOverview.extend({
      newest: z.array(AlertView).describe('Raised alerts, the newest first; at most 100.'),
    }),
    services: z.array(ServiceState).describe('Configured services, as they answer now.'),
    tickets: z.null().describe('Null: no ticket system is connected.'),
  }),
  run: async (
    _input,
    context: Context &
      FleetViews &
      FlowViews &
      GateViews &
      ModelViews &
      MonitorViews &
      QueueViews &
      RampUpViews &
      ServiceViews,
  ) => {
    const { monitor, now } = context
    const scope = scopeOf(context)
    const [queue, { flows, synergies }, ramp_ups, gates, services] = await Promise.all([
      queueOverviewOf(context, scope),
      flowOverviewOf(context),
      rampUpOverviewOf(context),
      readGates(context),
      checkServices(context),
    ])
    const raised = monitor.alerts().filter(isRaised)
    return {
      generated_at: iso(now()),
      fleet: overviewOf(context),
      queue,
      flows,
      synergies,
      ramp_ups,
      gates,
      alerts: {
        ...countAlerts(monitor.alerts(), comparePeriods(now()).current),
        newest: raised.slice(0, MOST_ALERTS).map(alertData),
      },
      services,
      tickets: null,
    }
  },
})
