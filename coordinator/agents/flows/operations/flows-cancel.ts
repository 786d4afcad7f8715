import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import type { FlowViews } from '../open.ts'
import { RUN_PATH, RunView, runViewOf } from './flow-view.ts'

export default defineOperation({
  id: 'flows-cancel',
  description: 'Cancel a run before its next step. Completed steps are compensated.',
  method: 'POST',
  path: '/v1/flows/runs/{run_id}/cancel',
  access: 'operator',
  effect: 'write',
  tool: false,
  input: z.strictObject(RUN_PATH),
  output: RunView,
  run: async ({ run_id }, context: Context & FlowViews) => {
    const { tenantId } = scopeOf(context)
    return runViewOf(await context.flows.cancel(run_id, tenantId, context.actor))
  },
})
