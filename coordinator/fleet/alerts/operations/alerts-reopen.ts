import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { MonitorViews } from '../open-monitor.ts'
import { ALERT_PATH, AlertView } from './alert-view.ts'
import { lookAfter } from './look-after.ts'

export default defineOperation({
  id: 'alerts-reopen',
  description: 'Withdraw the acknowledgement of an alert.',
  method: 'POST',
  path: '/v1/alerts/{alert_id}/reopen',
  access: 'operator',
  effect: 'write',
  input: z.strictObject(ALERT_PATH),
  output: AlertView,
  run: ({ alert_id }, context: Context & MonitorViews) =>
    lookAfter(context, alert_id, { note: undefined }),
})
