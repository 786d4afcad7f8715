import * as z from 'zod'
import { createUnknownError } from '../../../../shared/reference-errors.ts'
import type { Alert } from '../alert.ts'
import { ALERT_RULES } from '../alert-rules.ts'
import type { MonitorViews } from '../open-monitor.ts'

export const AlertRuleName = z.enum(Object.keys(ALERT_RULES) as [keyof typeof ALERT_RULES])

export const AlertView = z.object({
  id: z.string(),
  rule: AlertRuleName,
  level: z.enum(['warn', 'critical']),
  /** Null when it is about the whole fleet or the coordinator itself. */
  cell_id: z.string().nullable(),
  /** GPU or engine of the cell that the alert is about. */
  part: z.string().nullable(),
  message: z.string(),
  raised_at: z.iso.datetime(),
  cleared_at: z.iso.datetime().nullable(),
  /** Acknowledgement, with the person's id; null while nobody has acknowledged the alert. */
  acknowledged: z.object({ by: z.string(), at: z.iso.datetime(), note: z.string() }).nullable(),
})

export const ALERT_PATH = { alert_id: z.string().min(1).max(128) }

/** Throws `not_found`: those that are raised are known, and the ones that were cleared last. */
export const alertOf = ({ monitor }: MonitorViews, id: string): Alert => {
  const alert = monitor.alerts().find(each => each.id === id)
  if (alert === undefined) throw createUnknownError('alert', id)
  return alert
}
