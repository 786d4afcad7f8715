import type * as z from 'zod'
import { alertData } from '../../fleet/alert.ts'
import type { Context } from '../context.ts'
import { callerOf } from '../gates/gate-view.ts'
import type { AlertView } from './alert-view.ts'

/** The caller looks after an alert or, without a note, nobody does any more. */
export const lookAfter = async (
  context: Context,
  alertId: string,
  { note }: { note: string | undefined },
): Promise<z.input<typeof AlertView>> => {
  const { personId } = callerOf(context).person
  return alertData(await context.monitor.acknowledge(alertId, personId, note, context.actor))
}
