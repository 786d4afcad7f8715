import type * as z from 'zod'
import { callerOf } from '../../../access/gates/operations/gate-view.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { alertData } from '../alert.ts'
import type { MonitorViews } from '../open-monitor.ts'
import type { AlertView } from './alert-view.ts'

/** The caller looks after an alert or, without a note, nobody does any more. */
export const lookAfter = async (
  context: Context & MonitorViews,
  alertId: string,
  { note }: { note: string | undefined },
): Promise<z.input<typeof AlertView>> => {
  const { personId } = callerOf(context).person
  return alertData(await context.monitor.acknowledge(alertId, personId, note, context.actor))
}
