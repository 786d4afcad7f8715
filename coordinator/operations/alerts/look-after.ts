import type * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import { createAudit } from '../../audit/audit.ts'
import { alertData } from '../../fleet/monitor.ts'
import type { Context } from '../context.ts'
import { callerOf } from '../gates/gate-view.ts'
import { type AlertView, alertOf } from './alert-view.ts'

/**
 * The caller looks after an alert, or nobody does any more. Alerts are gone after a restart; who took
 * one upon themselves is kept in the audit, and is written there before it is told.
 */
export const lookAfter = async (
  context: Context,
  alertId: string,
  { note }: { note: string | undefined },
): Promise<z.input<typeof AlertView>> => {
  const { monitor, store, actor } = context
  const { personId } = callerOf(context).person
  const { id, rule, cellId = null, clearedAt } = alertOf(context, alertId)
  if (clearedAt !== undefined)
    throw new ShoalError('conflict', `alert ${id} was cleared: there is nothing to look after`)
  await createAudit(store).append({
    ...{ ...actor, subject: id, outcome: 'done' },
    action: note === undefined ? 'alert.reopen' : 'alert.acknowledge',
    details: { rule, cell_id: cellId, ...(note && { note }) },
  })
  const by = note === undefined ? undefined : { by: personId, note }
  return alertData(monitor.acknowledge(id, by))
}
