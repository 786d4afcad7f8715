import * as z from 'zod'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { pageLimit } from '../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { alertData, isRaised } from '../alert.ts'
import type { MonitorViews } from '../open-monitor.ts'
import { AlertView } from './alert-view.ts'

export default defineOperation({
  id: 'alerts-list',
  description:
    'List the alerts that are raised now and, on request, those that were resolved recently.',
  method: 'GET',
  path: '/v1/alerts',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({
    state: z.enum(['raised', 'cleared', 'all']).default('raised'),
    limit: pageLimit(1000, 200),
  }),
  output: z.object({
    data_state: DataState,
    fleet_degraded: z.boolean(),
    /** Newest first; those that are raised stand before those that were cleared. */
    alerts: z.array(AlertView),
  }),
  run: ({ state, limit }, { monitor }: MonitorViews) => {
    const wanted = monitor
      .alerts()
      .filter(alert => state === 'all' || isRaised(alert) === (state === 'raised'))
    return {
      data_state: dataState(wanted.length),
      fleet_degraded: monitor.isDegraded(),
      alerts: wanted.slice(0, limit).map(alertData),
    }
  },
})
