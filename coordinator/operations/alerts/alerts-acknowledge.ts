import * as z from 'zod'
import { defineOperation } from '../operation.ts'
import { ALERT_PATH, AlertView } from './alert-view.ts'
import { lookAfter } from './look-after.ts'

export default defineOperation({
  id: 'alerts-acknowledge',
  description: 'Say that you look after an alert; it stays raised until its cause has gone.',
  method: 'POST',
  path: '/v1/alerts/{alert_id}/acknowledge',
  access: 'operator',
  effect: 'write',
  input: z.strictObject({
    ...ALERT_PATH,
    note: z.string().max(500).default('').describe('What is being done about it.'),
  }),
  output: AlertView,
  run: ({ alert_id, note }, context) => lookAfter(context, alert_id, { note }),
})
