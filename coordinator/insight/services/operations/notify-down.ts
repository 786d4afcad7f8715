import { DAY_MS } from '../../../../shared/time.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import type { ServiceViews } from '../open.ts'
import { incidentIdOf, type ServiceHealth } from '../services.ts'
import type { StartedRepair } from './start-repair.ts'

/**
 * Notifies the operators of a service that is down: once per incident, and without a repair once a
 * day for the same reason. Returns the ids of the jobs.
 */
export const notifyDown = (
  { serviceId, reason = 'down' }: ServiceHealth,
  context: Context & ServiceViews,
  repair: StartedRepair | undefined,
): Promise<string[]> => {
  const { tenantId } = scopeOf(context)
  const today = Math.floor(context.now() / DAY_MS)
  const incidentId = repair?.incidentId ?? incidentIdOf(serviceId, `${reason} ${today}`)
  const next =
    repair === undefined
      ? `It has no services.${serviceId}.repair_url and must be repaired by hand.`
      : `Its repair ${repair.run.id} waits at gate.repair-run.`
  const text = `${serviceId} is down (${reason}). ${next}`
  return context.repairs.notify({ text, about: `${tenantId}:${incidentId}`, tenantId })
}
