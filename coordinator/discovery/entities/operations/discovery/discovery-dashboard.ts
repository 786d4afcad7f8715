import * as z from 'zod'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { DiscoveryViews } from '../../open.ts'
import type { EntityViews } from '../../open-entities.ts'
import { DiscoveryState, readDiscoveryState } from './discovery-state.ts'

const Counts = z.record(z.string(), z.int())
const HOUR_MS = 3_600_000

export default defineOperation({
  id: 'discovery-dashboard',
  description: 'Count entities by type and risk, and their changes over the last hours.',
  method: 'GET',
  path: '/a2a/discovery/dashboard',
  access: 'operator',
  effect: 'read',
  tool: false,
  cli: { group: 'discover', verb: 'dashboard' },
  input: z.strictObject({ hours: z.int().min(1).max(168).default(24) }),
  output: z.object({
    state: DiscoveryState,
    device_types: Counts,
    risk_levels: Counts,
    series: z.array(z.object({ from: z.iso.datetime(), deltas: Counts })).describe('One per hour.'),
    scanners: z.array(
      z.object({ cell_id: z.string(), module: z.string(), runs: z.int(), at: z.iso.datetime() }),
    ),
  }),
  run: async ({ hours }, context: Context & DiscoveryViews & EntityViews) => {
    const { entityQuery, now } = context
    const end = Math.ceil(now() / HOUR_MS) * HOUR_MS
    const scanners = await entityQuery.listScanners(100)
    return {
      state: await readDiscoveryState(context),
      device_types: await entityQuery.countBy('type'),
      risk_levels: await entityQuery.countBy('risk_level'),
      series: await entityQuery.countByHour(end - hours * HOUR_MS, end),
      scanners: scanners.map(({ cellId, module, runs, at }) => ({
        cell_id: cellId,
        module,
        runs,
        at: new Date(at).toISOString(),
      })),
    }
  },
})
