import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import type { FlowViews } from '../open.ts'
import { RUN_STATES } from '../run.ts'
import { RunView, runViewOf } from './flow-view.ts'

const NEWEST = 20

export default defineSkill({
  id: 'flow-status',
  group: 'fleet',
  name: 'Flow status',
  description: 'Count the runs of flows by state, and show the newest and those that wait.',
  tags: ['flows', 'queue', 'operations'],
  access: 'operator',
  effect: 'read',
  input: z.strictObject({}),
  output: z.object({
    data_state: DataState,
    configured_flows: z.int(),
    runs: z.int(),
    by_state: z.record(z.enum(RUN_STATES), z.int()),
    by_flow: z.array(
      z.object({ flow_id: z.string(), runs: z.int(), done: z.int(), failed: z.int() }),
    ),
    waiting: z.array(RunView).describe('Runs that wait for a gate or a task.'),
    newest: z.array(RunView),
  }),
  toLoad: 'the run of a flow: `shoal flows run`; docs/flows.md',
  run: async (_input, context: Context & FlowViews) => {
    const { flows } = context
    const { tenantId } = scopeOf(context)
    const counts = await flows.count(tenantId)
    const add = (of: typeof counts) => of.reduce((sum, { runs }) => sum + runs, 0)
    const [waiting, newest] = await Promise.all([
      flows.runs(tenantId, { state: 'waiting', limit: NEWEST }),
      flows.runs(tenantId, { limit: NEWEST }),
    ])
    return {
      data_state: dataState(counts.length),
      configured_flows: Object.keys(flows.flows).length,
      runs: add(counts),
      by_state: Object.fromEntries(
        RUN_STATES.map(state => [state, add(counts.filter(count => count.state === state))]),
      ) as Record<(typeof RUN_STATES)[number], number>,
      by_flow: [...Map.groupBy(counts, ({ flowId }) => flowId)].map(([flow_id, of]) => ({
        flow_id,
        runs: add(of),
        done: add(of.filter(({ state }) => state === 'done')),
        failed: add(of.filter(({ state }) => state === 'failed' || state === 'unknown')),
      })),
      waiting: waiting.map(runViewOf),
      newest: newest.map(runViewOf),
    }
  },
})
