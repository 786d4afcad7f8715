import * as z from 'zod'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { isRaised } from '../alert.ts'
import { ALERT_RULES } from '../alert-rules.ts'
import type { MonitorViews } from '../open-monitor.ts'
import { AlertRuleName, AlertView } from './alert-view.ts'

export default defineOperation({
  id: 'alerts-rules',
  description:
    'List the alert rules: what each one watches, for how long, and how many alerts it has raised now.',
  method: 'GET',
  path: '/v1/alerts/rules',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({}),
  output: z.object({
    rules: z.array(
      z.object({
        rule: AlertRuleName,
        level: AlertView.shape.level,
        says: z.string(),
        /** Time the condition must hold before an alert is raised, in seconds. */
        raise_after_s: z.number(),
        /** Time the condition must be absent before the alert is cleared, in seconds. */
        clear_after_s: z.number(),
        /** Alerts of this rule that are raised now. */
        raised: z.int(),
      }),
    ),
  }),
  run: (_input, { monitor }: MonitorViews) => {
    const raised = monitor.alerts().filter(isRaised)
    return {
      rules: AlertRuleName.options.map(rule => {
        const { level, says, raiseAfterMs, clearAfterMs } = ALERT_RULES[rule]
        return {
          rule,
          level,
          says,
          raise_after_s: raiseAfterMs / 1000,
          clear_after_s: clearAfterMs / 1000,
          raised: raised.filter(alert => alert.rule === rule).length,
        }
      }),
    }
  },
})
