import * as z from 'zod'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { alertData } from '../alert.ts'
import type { MonitorViews } from '../open-monitor.ts'
import { ALERT_PATH, AlertView, alertOf } from './alert-view.ts'

export default defineOperation({
  id: 'alerts-show',
  description: 'Show one alert: its cause, when it was raised, and who acknowledged it.',
  method: 'GET',
  path: '/v1/alerts/{alert_id}',
  access: 'operator',
  effect: 'read',
  input: z.strictObject(ALERT_PATH),
  output: AlertView,
  run: ({ alert_id }, context: MonitorViews) => alertData(alertOf(context, alert_id)),
})
