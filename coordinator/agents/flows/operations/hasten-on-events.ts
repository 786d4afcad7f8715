import type { Logger } from 'pino'
import type { Events } from '../../../kernel/events/bus.ts'
import type { Flows } from '../flows.ts'

interface HastenParts {
  flows: Pick<Flows, 'hasten'>
  events: Pick<Events, 'subscribe'>
  logger: Pick<Logger, 'warn'>
}

/** Events after which a run that waits for their subject can continue. */
const AWAITED = new Set([
  'shoal.gate.approved',
  'shoal.gate.blocked',
  'shoal.gate.expired',
  'shoal.gate.superseded',
  'shoal.gate.withdrawn',
  'shoal.task.completed',
  'shoal.task.failed',
  'shoal.task.canceled',
  'shoal.task.rejected',
])

/**
 * Continues waiting runs at once when what they wait for is decided; otherwise their next check finds
 * it. Returns a function that stops this.
 */
export const hastenOnEvents = ({ flows, events, logger }: HastenParts): (() => void) =>
  events.subscribe(AWAITED, ({ id, subject, data }) => {
    const { tenant_id: tenantId } = data as { tenant_id?: string }
    if (subject === undefined || tenantId === undefined) return
    flows
      .hasten(tenantId, subject)
      .catch(error => logger.warn({ event: id, err: error }, 'a run was not continued at once'))
  })
