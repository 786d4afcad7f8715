import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { pageLimit } from '../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import type { FlowViews } from '../open.ts'
import { RUN_STATES } from '../run.ts'
import { RunView, runViewOf } from './flow-view.ts'

export default defineOperation({
  id: 'flows-runs',
  description: 'List the runs of flows, newest first.',
  method: 'GET',
  path: '/v1/flows/runs',
  access: 'operator',
  effect: 'read',
  tool: false,
  input: z.strictObject({
    flow: z.string().max(200).exactOptional().describe('Id of the flow.'),
    state: z.enum(RUN_STATES).exactOptional(),
    limit: pageLimit(),
  }),
  output: z.object({ runs: z.array(RunView) }),
  run: async ({ flow, ...filter }, context: Context & FlowViews) => {
    const { tenantId } = scopeOf(context)
    const runs = await context.flows.runs(tenantId, { flowId: flow, ...filter })
    return { runs: runs.map(runViewOf) }
  },
})
