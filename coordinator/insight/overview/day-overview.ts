import * as z from 'zod'
import type { GateViews } from '../../access/gates/open.ts'
import type { QuotaViews } from '../../access/quota/open.ts'
import type { FlowViews } from '../../agents/flows/open.ts'
import { isRaised } from '../../fleet/alerts/alert.ts'
import { type DiagnosisCheck, diagnose } from '../../fleet/alerts/diagnosis.ts'
import type { MonitorViews } from '../../fleet/alerts/open-monitor.ts'
import type { FleetViews } from '../../fleet/cells/open.ts'
import type { ReplicaViews } from '../../fleet/cells/replica-states.ts'
import type { EnrolmentViews } from '../../fleet/enrolment/open.ts'
import type { ModelViews } from '../../fleet/models/open.ts'
import type { VitalViews } from '../../kernel/base/vitals.ts'
import type { Context } from '../../kernel/declaration/context.ts'
import { scopeOf } from '../../kernel/declaration/tenant-scope.ts'
import type { QueueViews } from '../../kernel/queue/open.ts'
import type { BackupViews } from '../backup/open.ts'
import { type Attention, listAttention } from '../reports/attention.ts'
import { type BackupStanding, judgeBackups } from '../reports/backup-standing.ts'
import { comparePeriods, type Period } from '../reports/period.ts'
import { metricsOf, NO_USAGE, type UsageSums } from '../reports/service-metrics.ts'
import type { ServiceViews } from '../services/open.ts'
import { overviewOf, queueOverviewOf } from './fleet-overview.ts'
import { observeSelf } from './observe-self.ts'
import { checkServices } from './platform-overview.ts'

/** Newest failed runs among which those of the period are counted. */
const FAILED_RUNS = 200

export const GateOverview = z.object({
  pending: z.int().describe("Pending requests of the caller's tenant."),
  by_gate: z.record(z.string(), z.int()).describe('Pending requests by gate.'),
})

export const AlertOverview = z.object({
  raised: z.int().describe('Alerts that are raised now.'),
  critical: z.int().describe('Raised alerts of level critical.'),
  unacknowledged: z.int().describe('Raised alerts that are not acknowledged.'),
  raised_today: z.int().describe('Alerts raised within the period.'),
  cleared_today: z.int().describe('Alerts cleared within the period.'),
})

/** Contents of the daily report. */
interface DayOverview {
  period: Period
  sums: UsageSums | undefined
  fleet: ReturnType<typeof overviewOf>
  queue: Awaited<ReturnType<typeof queueOverviewOf>>
  gates: z.input<typeof GateOverview>
  alerts: z.input<typeof AlertOverview>
  checks: DiagnosisCheck[]
  backups: BackupStanding
  attention: Attention[]
}

export const readDay = async (
  context: Context &
    BackupViews &
    EnrolmentViews &
    FleetViews &
    FlowViews &
    GateViews &
    ModelViews &
    MonitorViews &
    QueueViews &
    QuotaViews &
    ReplicaViews &
    ServiceViews &
    VitalViews,
): Promise<DayOverview> => {
  const { usage, monitor, backups, now } = context
  const scope = scopeOf(context)
  const { current } = comparePeriods(now())
  const [[sums], queue, gates, checks, listed, services, failed] = await Promise.all([
    usage.read({ ...scope, ...current, groupBy: [], limit: 1 }),
    queueOverviewOf(context, scope),
    readGates(context),
    observeSelf(context).then(diagnose),
    backups.list(),
    checkServices(context),
    context.flows.runs(scope.tenantId, { state: 'failed', limit: FAILED_RUNS }),
  ])
  const fleet = overviewOf(context)
  const raised = monitor.alerts().filter(isRaised)
  const standing = judgeBackups(listed, now())
  return {
    period: current,
    sums,
    fleet,
    queue,
    gates,
    alerts: countAlerts(monitor.alerts(), current),
    checks,
    backups: standing,
    attention: listAttention({
      checks,
      unacknowledged: raised.filter(({ acknowledged }) => acknowledged === undefined),
      modelsMissing: fleet.models_missing,
      pendingRequests: gates.pending,
      deadJobs: queue.dead,
      faultyServices: services.filter(({ state }) => state !== 'up'),
      failedRuns: failed.filter(({ endedAt = 0 }) => endedAt >= current.from).length,
      errorPercent: metricsOf(sums ?? NO_USAGE).errorPercent,
      backups: standing,
    }),
  }
}

export const readGates = async (
  context: Pick<Context, 'tenantId'> & Pick<GateViews, 'gates'>,
): Promise<z.input<typeof GateOverview>> => {
  const pending = await context.gates.countPending(scopeOf(context))
  const by_gate = Object.fromEntries(pending)
  return { pending: Object.values(by_gate).reduce((all, count) => all + count, 0), by_gate }
}

export const countAlerts = (
  alerts: ReturnType<MonitorViews['monitor']['alerts']>,
  { from }: Period,
): z.input<typeof AlertOverview> => {
  const raised = alerts.filter(isRaised)
  return {
    raised: raised.length,
    critical: raised.filter(({ level }) => level === 'critical').length,
    unacknowledged: raised.filter(({ acknowledged }) => acknowledged === undefined).length,
    raised_today: alerts.filter(({ raisedAt }) => raisedAt >= from).length,
    cleared_today: alerts.filter(({ clearedAt = 0 }) => clearedAt >= from).length,
  }
}
