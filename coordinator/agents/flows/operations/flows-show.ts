import * as z from 'zod'
import { accessFault } from '../../../calls/invoke/access.ts'
import type { CallViews } from '../../../calls/invoke/call-views.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import type { FlowViews } from '../open.ts'
import { RUN_PATH, RunDetails, runDetailsOf } from './flow-view.ts'

export default defineOperation({
  id: 'flows-show',
  description: 'Show one run of a flow with the outcome of each step.',
  method: 'GET',
  path: '/v1/flows/runs/{run_id}',
  access: 'operator',
  effect: 'read',
  tool: false,
  input: z.strictObject(RUN_PATH),
  output: RunDetails,
  run: async ({ run_id }, context: Context & CallViews & FlowViews) => {
    const { flows, skills, key } = context
    const run = await flows.run(run_id, scopeOf(context).tenantId)
    return runDetailsOf(run, await flows.calls(run.id), skillId => {
      const skill = skills.find(({ id }) => id === skillId)
      return skill === undefined ? `no skill ${skillId}` : accessFault(skill, key)
    })
  },
})
