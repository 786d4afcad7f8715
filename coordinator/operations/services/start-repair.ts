import { wait } from '../../../shared/wait.ts'
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
  /** Request at the gate; undefined when the run has ended, or has not asked in time. */
  requestId: string | undefined
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
  return { run, incidentId, requestId: await waitForRequest(run.id, context), noticeJobIds }
}

/** The run asks at the gate as soon as its step has found the service down. */
const ASKED_WITHIN_MS = 5000
const LOOK_MS = 100

const waitForRequest = async (
  runId: string,
  { flows, signal }: Pick<Context, 'flows' | 'signal'>,
): Promise<string | undefined> => {
  for (let waitedMs = 0; waitedMs <= ASKED_WITHIN_MS && !signal.aborted; waitedMs += LOOK_MS) {
    const [call] = await flows.calls(runId)
    if (call?.gateRequestId !== undefined || call?.endedAt !== undefined) return call.gateRequestId
    await wait(LOOK_MS, signal)
  }
  return undefined
}
