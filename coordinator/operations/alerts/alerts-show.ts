import * as z from 'zod'
import { alertData } from '../../fleet/alert.ts'
import { defineOperation } from '../operation.ts'
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
  run: ({ alert_id }, context) => alertData(alertOf(context, alert_id)),
})
