import type { GateViews } from '../../access/gates/open.ts'
import { stateAt } from '../../access/gates/request.ts'
import type { QuotaViews } from '../../access/quota/open.ts'
import type { CallHourViews } from '../../calls/invoke/open-call-hours.ts'
import type { MonitorViews } from '../../fleet/alerts/open-monitor.ts'
import { engineReports } from '../../fleet/cells/cell.ts'
import type { FleetViews } from '../../fleet/cells/open.ts'
import { isPresent } from '../../fleet/cells/presence.ts'
import type { Context } from '../../kernel/declaration/context.ts'
import { scopeOf } from '../../kernel/declaration/tenant-scope.ts'
import type { QueueViews } from '../../kernel/queue/open.ts'
import type { Period } from '../reports/period.ts'
import type { QualityFacts } from '../reports/quality.ts'
import { computePercentWithin, metricsOf, NO_USAGE } from '../reports/service-metrics.ts'

const NEWEST_REQUESTS = 1000
/** States in which a request has been decided, or can be decided no more. */
const ENDED: ReadonlySet<string> = new Set(['approved', 'consumed', 'blocked', 'expired'])

/** Facts of a period for the quality indicators, as the caller's tenant sees them. */
export const gatherQualityFacts = async (
  context: Context &
    CallHourViews &
    FleetViews &
    GateViews &
    MonitorViews &
    QueueViews &
    QuotaViews,
  { from, to }: Period,
): Promise<QualityFacts> => {
  const { usage, callHours, queue, gates, monitor, fleet, now } = context
  const scope = scopeOf(context)
  const [[sums = NO_USAGE], calls, board, requests] = await Promise.all([
    usage.read({ ...scope, from, to, groupBy: [], limit: 1 }),
    callHours.read({ ...scope, from, to }),
    queue.board(scope),
    gates.list({ limit: NEWEST_REQUESTS }, scope),
  ])
  const countJobs = (state: string) =>
    board.filter(line => line.state === state).reduce((all, { jobs }) => all + jobs, 0)
  const ended = requests
    .filter(({ createdAt }) => createdAt >= from)
    .map(request => stateAt(request, now()))
    .filter(state => ENDED.has(state))
  const present = [...fleet.cells()].filter(cell => isPresent(cell.presence))
  return {
    service: metricsOf(sums),
    promptPercent: computePercentWithin(sums, 2500),
    calls: calls.reduce((all, call) => all + call.calls, 0),
    failedCalls: calls.reduce((all, { errors }) => all + errors, 0),
    doneJobs: countJobs('done'),
    deadJobs: countJobs('dead'),
    endedRequests: ended.length,
    expiredRequests: ended.filter(state => state === 'expired').length,
    alerts: monitor.alerts().filter(({ raisedAt }) => raisedAt >= from),
    engines: present.flatMap(engineReports).length,
    unreliableEngines: present
      .flatMap(({ engines }) => [...engines.values()])
      .filter(({ health }) => health?.breaker.isClosed === false).length,
  }
}
