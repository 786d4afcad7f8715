import { REPAIR_FLOW } from '../../flows/flow.ts'
import { type FlowRun, hasEnded } from '../../flows/run.ts'
import { incidentIdOf, type ServiceHealth } from '../../services/services.ts'
import type { Context } from '../context.ts'
import { starterOf } from '../flows/starter.ts'
import { scopeOf } from '../tenant-scope.ts'

const SEEN_RUNS = 200

export interface StartedRepair {
  run: FlowRun
  incidentId: string
  noticeJobIds: string[]
}

/** Starts the repair of a service that is down, once per incident, and notifies the operators. */
export const startRepair = async (
  { serviceId, reason = 'down' }: ServiceHealth,
  context: Context,
): Promise<StartedRepair> => {
  const { flows, repairs } = context
  const { tenantId } = scopeOf(context)
  const runs = await flows.runs(tenantId, { flowId: REPAIR_FLOW, limit: SEEN_RUNS })
  const last = runs.find(run => run.steps[0]?.id === serviceId)
  const open = last !== undefined && !hasEnded(last) ? last : undefined
  const before = (open?.steps[0]?.input.incident_id as string) ?? undefined
  const incidentId = before ?? incidentIdOf(serviceId, last?.id ?? 'first')
  const input = { service_id: serviceId, incident_id: incidentId, failure: reason.slice(0, 200) }
  const step = { id: serviceId, skill: 'repair-trigger', input, when: [] }
  const run =
    open ??
    (await flows.start(
      { flowId: REPAIR_FLOW, cost_eur: 0, steps: [{ ...step, on_failure: 'stop' }] },
      starterOf(context),
      { onceKey: `${tenantId}:${incidentId}` },
    ))
  const noticeJobIds = await repairs.notify({
    text: `${serviceId} is down (${reason}). Its repair ${run.id} waits at gate.repair-run.`,
    about: `${tenantId}:${incidentId}`,
    tenantId,
  })
  return { run, incidentId, noticeJobIds }
}
