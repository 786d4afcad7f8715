import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { MonitorViews } from '../open-monitor.ts'
import { ALERT_PATH, AlertView } from './alert-view.ts'
import { lookAfter } from './look-after.ts'

export default defineOperation({
  id: 'alerts-acknowledge',
  description: 'Acknowledge an alert. It stays raised until its cause is resolved.',
  method: 'POST',
  path: '/v1/alerts/{alert_id}/acknowledge',
  access: 'operator',
  effect: 'write',
  input: z.strictObject({
    ...ALERT_PATH,
    note: z.string().max(500).default('').describe('Note on how the alert is being handled.'),
  }),
  output: AlertView,
  run: ({ alert_id, note }, context: Context & MonitorViews) =>
    lookAfter(context, alert_id, { note }),
})
