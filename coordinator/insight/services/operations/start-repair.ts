import { lookUntil } from '../../../../shared/look-until.ts'
import { HOUR_MS } from '../../../../shared/time.ts'
import { REPAIR_FLOW } from '../../../agents/flows/flow.ts'
import type { FlowViews } from '../../../agents/flows/open.ts'
import { starterOf } from '../../../agents/flows/operations/starter.ts'
import type { FlowRun } from '../../../agents/flows/run.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import { incidentIdOf, type ServiceHealth } from '../services.ts'

const SEEN_RUNS = 200
/** Time after a repair in which the service gets no other one, also when people rejected it. */
const REST_MS = HOUR_MS

export interface StartedRepair {
  run: FlowRun
  incidentId: string
  /** Request at the gate; undefined when the run has not asked in time. */
  requestId: string | undefined
}

/**
 * Starts the repair of a service that is down, once per incident. An incident lasts until an hour
 * after the end of its repair.
 */
export const startRepair = async (
  { serviceId, reason = 'down' }: ServiceHealth,
  context: Context & FlowViews,
): Promise<StartedRepair> => {
  const { flows } = context
  const { tenantId } = scopeOf(context)
  const runs = await flows.runsWithSteps(tenantId, { flowId: REPAIR_FLOW, limit: SEEN_RUNS })
  const last = runs.find(run => run.steps[0]?.id === serviceId)
  const known = last !== undefined && isCurrent(last, context.now()) ? last : undefined
  const before = (known?.steps[0]?.input.incident_id as string) ?? undefined
  const incidentId = before ?? incidentIdOf(serviceId, last?.id ?? 'first')
  const input = { service_id: serviceId, incident_id: incidentId, failure: reason.slice(0, 200) }
  const step = { id: serviceId, skill: 'repair-trigger', input, when: [] }
  const run =
    known ??
    (await flows.start(
      { flowId: REPAIR_FLOW, cost_eur: 0, steps: [{ ...step, on_failure: 'stop' }] },
      starterOf(context),
      { onceKey: `${tenantId}:${incidentId}` },
    ))
  const isOpen = run.endedAt === undefined
  return { run, incidentId, requestId: isOpen ? await waitForRequest(run.id, context) : undefined }
}

/** The run asks at the gate as soon as its step has found the service down. */
const ASKED_WITHIN_MS = 5000
const LOOK_MS = 100

const waitForRequest = async (
  runId: string,
  { flows, signal, runtime }: Pick<Context, 'signal' | 'runtime'> & FlowViews,
): Promise<string | undefined> => {
  const look = async () => {
    const [call] = await flows.calls(runId)
    const isAnswered = call?.gateRequestId !== undefined || call?.endedAt !== undefined
    return isAnswered ? call : undefined
  }
  const limits = { everyMs: LOOK_MS, timeoutMs: ASKED_WITHIN_MS, signal, runtime }
  return (await lookUntil(look, limits))?.gateRequestId
}

const isCurrent = ({ endedAt }: FlowRun, now: number): boolean =>
  endedAt === undefined || now - endedAt < REST_MS
